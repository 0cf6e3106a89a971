"""The network of the nodes: a namespace with three bridges and a router; the machine is connected like another host.

    stackwright-router
    10.89.0.2  ── sw-br0  ─┬─ machine      ═ sw-machine  10.89.0.1, the machine's only link
                           ├─ sw-node1     ═ eth0        10.89.0.11 in stackwright-node1 ── pods 10.244.1.0/24
                           └─ sw-node2     ═ eth0        10.89.0.12 in stackwright-node2 ── pods 10.244.2.0/24
               ── sw-tun0 ─── sw-nodeN-tun ═ tunnel0     10.90.0.11 …   traffic between virtual machines
    172.24.4.1 ── sw-ext0 ─── sw-nodeN-ext ═ ext0        no address     the clouds' external network
    10.91.0.100 ─ tap0    ═ slirp4netns, which sends outgoing traffic over connections of the machine

Forwarding and bridging are set in that namespace, so the machine's own settings stay unchanged: it routes nothing for
the cluster, and our nft table prevents that even if the machine is a router. Nodes reach each other's pods directly
over the first bridge; the machine reaches pods by a route per node, and Services through the first node's rules. From
the external network virtual machines reach only the ingress of nodes, with the cloud's public endpoints. The node's
side is in `local/node/network.py`.
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
    # The router's rules do not apply to frames between nodes.
    "net.bridge.bridge-nf-call-iptables=0",
)


def ensure() -> None:
    """Create what is missing and repair what was changed. Nodes connect their links themselves (`attach`)."""
    _remove_links({*config.BRIDGES} & links())  # created here by an older version
    if not exists():
        succeeds(["ip", "netns", "del", config.ROUTER])  # its file survives a reboot if /run is on a disk
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
    """`ip` commands for the router; `there` has the names of its links."""
    lines = ["link set lo up"]
    for number, bridge in enumerate(config.BRIDGES):
        if bridge not in there:
            # The MAC address is fixed; otherwise it would change whenever a node joins.
            lines.append(f"link add {bridge} address 02:00:00:00:59:{number:02x} type bridge")
        if bridge in ADDRESSES:
            lines.append(f"address replace {ADDRESSES[bridge]} dev {bridge}")
        lines.append(f"link set {bridge} up")
    lines.append(f"link set {MACHINE_PORT} master {config.BRIDGE} up")
    return "\n".join(lines) + "\n"


def machine_commands() -> str:
    """`ip` commands for the machine. Its link has no IPv6 address, so that no pod can advertise routes to it."""
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
    """Whether bridges, nft rules and the machine's link exist; addresses need no check, they vanish with their link."""
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
    ip saddr != {_INSIDE} oifname "{config.UPLINK}" drop
    iifname != "{config.EXTERNAL_BRIDGE}" accept
    ct state established,related accept
    ip daddr {config.NODE_NETWORK} ip daddr != {config.MACHINE_ADDRESS} tcp dport {{ 80, 443 }} accept
    drop""",
    "input": f"""\
    type filter hook input priority filter; policy accept;
    iifname != "{config.EXTERNAL_BRIDGE}" accept
    ct state established,related accept
    icmp type echo-request accept
    drop""",
}
"""Virtual machines belong to tenants: from the external network they reach only the ingress of nodes, and replies."""


def table(chains: dict[str, str]) -> str:
    """Commands for nft that replace the table in one transaction."""
    body = "".join(f"  chain {name} {{\n{rules}\n  }}\n" for name, rules in chains.items())
    return f"table ip {NFT_TABLE} {{}}\ndelete table ip {NFT_TABLE}\ntable ip {NFT_TABLE} {{\n{body}}}\n"


def links() -> set[str]:
    """Names of the machine's links."""
    return {name for _, name in socket.if_nameindex()}


def _masters() -> dict[str, str]:
    """Link of the router → its bridge, empty if it has none."""
    if not exists():
        return {}
    listed: list[dict[str, Any]] = json.loads(run(["ip", "-n", config.ROUTER, "-json", "link"]) or "[]")
    return {link["ifname"]: link.get("master", "") for link in listed}


def remaining_links() -> list[str]:
    """Links of the cluster on the machine."""
    ours = {config.MACHINE_LINK, *config.BRIDGES}
    return sorted(name for name in links() if name in ours or name.startswith("sw-node"))


def ports(node: Node) -> dict[str, str]:
    """Router's end of each of a node's links → its bridge."""
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
    """Connect the node's links and routes, which also repairs them."""
    masters = "".join(f"link set {port} master {bridge} up\n" for port, bridge in ports(node).items())
    run(["ip", "-n", config.ROUTER, "-batch", "-"], stdin=masters + route_commands(node, config.BRIDGE))
    run(["ip", "-batch", "-"], stdin=route_commands(node, config.MACHINE_LINK))


def route_commands(node: Node, link: str) -> str:
    networks = [node.pod_cidr, *([config.SERVICE_NETWORK] if node.index == 1 else [])]
    return "".join(f"route replace {network} via {node.address} dev {link} onlink\n" for network in networks)


def detach(node: Node, *more: str) -> None:
    """Remove the node's links, `more` links of an incomplete node, and the routes to it."""
    for where in ([], ["-n", config.ROUTER]):
        succeeds(["ip", *where, "route", "del", node.pod_cidr, "via", node.address])
    _remove_links({*ports(node), *more} & links())  # those that were not moved to the router yet
    for port in ports(node).keys() & _masters().keys():
        succeeds(["ip", "-n", config.ROUTER, "link", "del", port])


def remove_all() -> None:
    _remove_links(set(remaining_links()))
    succeeds(["ip", "netns", "del", config.ROUTER])
    succeeds(["nft", "delete", "table", "ip", NFT_TABLE])


def _remove_links(names: set[str]) -> None:
    for name in sorted(names):
        succeeds(["ip", "link", "del", name])
