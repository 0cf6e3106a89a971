"""The network around the nodes: a namespace with three bridges and the router between them; the machine is a neighbour.

    stackwright-router
    10.89.0.2  ── sw-br0  ─┬─ machine      ═ sw-machine  10.89.0.1, the machine's only link
                           ├─ sw-node1     ═ eth0        10.89.0.11 in stackwright-node1 ── pods 10.244.1.0/24
                           └─ sw-node2     ═ eth0        10.89.0.12 in stackwright-node2 ── pods 10.244.2.0/24
               ── sw-tun0 ─── sw-nodeN-tun ═ tunnel0     10.90.0.11 …   what virtual machines tell each other
    172.24.4.1 ── sw-ext0 ─── sw-nodeN-ext ═ ext0        no address     the clouds' external network
    10.91.0.100 ─ tap0    ═ slirp4netns, which makes connections of the machine of what leaves

Forwarding and bridging are settings of that namespace, so the machine's own stay as they are: it routes nothing for us,
and our table keeps it from doing so where somebody else made a router of it. Nodes reach each other's pods straight
over the first bridge; the machine reaches pods by a route per node, and Services through the first node's rules. A
node's own side is in `local/node/network.py`.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Collection
from pathlib import Path
from typing import Any

from stackwright.local import config
from stackwright.local.commands import run, succeeds
from stackwright.local.config import Node
from stackwright.local.host import mounts

NFT_TABLE = "stackwright"
NAMESPACE = Path("/run/netns", config.ROUTER)
IN_ROUTER = ("ip", "netns", "exec", config.ROUTER)
MACHINE_PORT = "machine"
ADDRESSES = {
    config.BRIDGE: f"{config.BRIDGE_ADDRESS}/{config.BRIDGE_PREFIX}",
    config.EXTERNAL_BRIDGE: f"{config.EXTERNAL_ADDRESS}/{config.EXTERNAL_NETWORK.partition('/')[2]}",
}
SETTINGS = (
    "net.ipv4.ip_forward=1",
    "net.ipv6.conf.all.disable_ipv6=1",
    "net.ipv6.conf.default.disable_ipv6=1",
    # Frames from node to node are no business of the router's rules.
    "net.bridge.bridge-nf-call-iptables=0",
)


def ensure() -> None:
    """Make what is missing, and mend what somebody changed. Links of nodes are theirs (`attach`)."""
    _remove_links({*config.BRIDGES} & links())  # an older version had them here
    if not exists():
        succeeds(["ip", "netns", "del", config.ROUTER])  # its file outlives a reboot where /run is on a disk
        run(["ip", "netns", "add", config.ROUTER])
    run([*IN_ROUTER, "sysctl", "-eqw", *SETTINGS])
    there = _masters()
    if MACHINE_PORT not in there or config.MACHINE_LINK not in links():
        _remove_links({config.MACHINE_LINK} & links())
        run(["ip", "link", "add", config.MACHINE_LINK, "type", "veth", "peer", MACHINE_PORT, "netns", config.ROUTER])
    run(["ip", "-n", config.ROUTER, "-batch", "-"], stdin=router_commands(there.keys()))
    run(["ip", "-batch", "-"], stdin=machine_commands())
    run([*IN_ROUTER, "nft", "-f", "-"], stdin=table(ROUTER_RULES))
    run(["nft", "-f", "-"], stdin=table(MACHINE_RULES))


def router_commands(there: Collection[str]) -> str:
    """`there`: names of the links that the router has."""
    lines = ["link set lo up"]
    for number, bridge in enumerate(config.BRIDGES):
        if bridge not in there:
            # With an address of its own, or it would take another one whenever a node joins.
            lines.append(f"link add {bridge} address 02:00:00:00:59:{number:02x} type bridge")
        if bridge in ADDRESSES:
            lines.append(f"address replace {ADDRESSES[bridge]} dev {bridge}")
        lines.append(f"link set {bridge} up")
    lines.append(f"link set {MACHINE_PORT} master {config.BRIDGE} up")
    return "\n".join(lines) + "\n"


def machine_commands() -> str:
    """Without an address of IPv6: nobody in the cluster may advertise routes to the machine."""
    link = config.MACHINE_LINK
    return (
        f"link set {link} addrgenmode none\n"
        f"address replace {config.MACHINE_ADDRESS}/{config.BRIDGE_PREFIX} dev {link}\n"
        f"link set {link} up\n"
        f"route replace {config.EXTERNAL_NETWORK} via {config.BRIDGE_ADDRESS} dev {link}\n"
    )


def exists() -> bool:
    return str(NAMESPACE) in mounts.all_targets()


def is_ready() -> bool:
    """The bridges with their guards, and the machine's link. Whoever took a link away took its addresses too."""
    if config.MACHINE_LINK not in links():
        return False
    return _masters().keys() >= {*config.BRIDGES, MACHINE_PORT} and _has_chains() and _has_chains(*IN_ROUTER)


def has_table() -> bool:
    return succeeds(["nft", "list", "table", "ip", NFT_TABLE])


def _has_chains(*where: str) -> bool:
    rules = ROUTER_RULES if where else MACHINE_RULES
    return all(succeeds([*where, "nft", "list", "chain", "ip", NFT_TABLE, chain]) for chain in rules)


MACHINE_RULES = {
    "forward": f"""\
    type filter hook forward priority filter; policy accept;
    iifname "{config.MACHINE_LINK}" drop
    oifname "{config.MACHINE_LINK}" drop""",
    "input": f"""\
    type filter hook input priority filter; policy accept;
    iifname != {{ "{config.MACHINE_LINK}", "lo" }} ip daddr {config.MACHINE_ADDRESS} drop""",
}
"""A verdict of `accept` leaves the machine's own firewall in force."""
_INSIDE = f"{{ {config.NODE_NETWORK}, {config.POD_NETWORK} }}"
ROUTER_RULES = {
    "postrouting": f"""\
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr {_INSIDE} oifname != "{config.BRIDGE}" masquerade""",
    "forward": f"""\
    type filter hook forward priority filter; policy accept;
    ip saddr != {_INSIDE} oifname "{config.UPLINK}" drop""",
}


def table(chains: dict[str, str]) -> str:
    """Replaces the table, in one transaction."""
    body = "".join(f"  chain {name} {{\n{rules}\n  }}\n" for name, rules in chains.items())
    return f"table ip {NFT_TABLE} {{}}\ndelete table ip {NFT_TABLE}\ntable ip {NFT_TABLE} {{\n{body}}}\n"


def links() -> set[str]:
    """The machine's own."""
    return {name for _, name in socket.if_nameindex()}


def _masters() -> dict[str, str]:
    """The router's links, and the bridge that each belongs to, empty for none."""
    if not exists():
        return {}
    listed: list[dict[str, Any]] = json.loads(run(["ip", "-n", config.ROUTER, "-json", "link"]) or "[]")
    return {link["ifname"]: link.get("master", "") for link in listed}


def left() -> list[str]:
    """Links of ours on the machine."""
    ours = {config.MACHINE_LINK, *config.BRIDGES}
    return sorted(name for name in links() if name in ours or name.startswith("sw-node"))


def ports(node: Node) -> dict[str, str]:
    """The router's ends of a node's links, and the bridges they belong to."""
    return {
        node.veth: config.BRIDGE,
        node.tunnel_veth: config.TUNNEL_BRIDGE,
        node.external_veth: config.EXTERNAL_BRIDGE,
    }


def has_ports(node: Node) -> bool:
    return _masters().keys() >= ports(node).keys()


def is_attached(node: Node) -> bool:
    masters = _masters()
    routes = node.pod_cidr in _routes(config.MACHINE_LINK) and node.pod_cidr in _routes(config.BRIDGE, config.ROUTER)
    return routes and all(masters.get(port) == bridge for port, bridge in ports(node).items())


def _routes(link: str, namespace: str = "") -> set[str]:
    where = ["-n", namespace] if namespace else []
    routes: list[dict[str, Any]] = json.loads(run(["ip", *where, "-json", "route"]) or "[]")
    return {route["dst"] for route in routes if route.get("dev") == link}


def attach(node: Node) -> None:
    """Connect what is there already; repeated, it mends what somebody took away."""
    masters = "".join(f"link set {port} master {bridge} up\n" for port, bridge in ports(node).items())
    run(["ip", "-n", config.ROUTER, "-batch", "-"], stdin=masters + route_commands(node, config.BRIDGE))
    run(["ip", "-batch", "-"], stdin=route_commands(node, config.MACHINE_LINK))


def route_commands(node: Node, link: str) -> str:
    networks = [node.pod_cidr, *([config.SERVICE_NETWORK] if node.index == 1 else [])]
    return "".join(f"route replace {network} via {node.address} dev {link} onlink\n" for network in networks)


def detach(node: Node, *more: str) -> None:
    """Remove its links, with `more` of a half-made one, and the routes to it."""
    for where in ([], ["-n", config.ROUTER]):
        succeeds(["ip", *where, "route", "del", node.pod_cidr, "via", node.address])
    _remove_links({*ports(node), *more} & links())  # made here, then moved
    for port in ports(node).keys() & _masters().keys():
        succeeds(["ip", "-n", config.ROUTER, "link", "del", port])


def remove_all() -> None:
    _remove_links(set(left()))
    succeeds(["ip", "netns", "del", config.ROUTER])
    succeeds(["nft", "delete", "table", "ip", NFT_TABLE])


def _remove_links(names: set[str]) -> None:
    for name in sorted(names):
        succeeds(["ip", "link", "del", name])
