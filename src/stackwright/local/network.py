"""The machine's side of the network: three bridges, routes to the pods, and the way out.

    machine 10.89.0.1  ── sw-br0  ─┬─ sw-node1     ═ eth0    10.89.0.11 in stackwright-node1 ── pods 10.244.1.0/24
                                   └─ sw-node2     ═ eth0    10.89.0.12 in stackwright-node2 ── pods 10.244.2.0/24
                       ── sw-tun0 ─── sw-nodeN-tun ═ tunnel0 10.90.0.11 …   what virtual machines tell each other
    machine 172.24.4.1 ── sw-ext0 ─── sw-nodeN-ext ═ ext0    no address     the clouds' external network

Nodes reach each other's pods straight over the first bridge; the machine reaches pods by a route per node, and Services
through the first node's rules. One nftables table, ours alone, lets pods reach the outside, and lets nobody outside
the machine reach pods, Services, nodes, or virtual machines. A node's own side is in `local/node_network.py`.
"""

from __future__ import annotations

import json
import socket
from typing import Any

from stackwright.local import config
from stackwright.local.commands import run, succeeds
from stackwright.local.config import Node

NFT_TABLE = "stackwright"
ADDRESSES = {
    config.BRIDGE: f"{config.BRIDGE_ADDRESS}/{config.BRIDGE_PREFIX}",
    config.EXTERNAL_BRIDGE: f"{config.EXTERNAL_ADDRESS}/{config.EXTERNAL_NETWORK.partition('/')[2]}",
}


def ensure_bridges(*, router: bool) -> None:
    """`router`: the machine routed packets of others before it routed ours, and goes on with it."""
    there = links()
    for bridge in config.BRIDGES:
        if bridge not in there:
            run(["ip", "link", "add", bridge, "type", "bridge"])
        if bridge in ADDRESSES:
            run(["ip", "address", "replace", ADDRESSES[bridge], "dev", bridge])
        # A bridge without an attached link is down for others; its own address answers all the same.
        run(["ip", "link", "set", bridge, "up"])
    run(["nft", "-f", "-"], stdin=rules(router=router))


def bridges_are_up() -> bool:
    """Whoever took a bridge away took its addresses too, so its presence is a good witness."""
    return links() >= set(config.BRIDGES)


def has_table() -> bool:
    return succeeds(["nft", "list", "table", "ip", NFT_TABLE])


def is_guarded() -> bool:
    """Whether the table has all of its chains; one that an older version made has not."""
    return all(succeeds(["nft", "list", "chain", "ip", NFT_TABLE, chain]) for chain in ("forward", "input"))


def rules(*, router: bool) -> str:
    """Replaces the table, in one transaction. A verdict of `accept` leaves the machine's own firewall in force."""
    sources = f"{{ {config.NODE_NETWORK}, {config.POD_NETWORK} }}"
    ours = "{ " + ", ".join(f'"{bridge}"' for bridge in config.BRIDGES) + " }"
    own = f"{{ {config.BRIDGE_ADDRESS}, {config.EXTERNAL_ADDRESS} }}"
    # Our forwarding must not make a router of a machine that was none.
    others = "" if router else f"    iifname != {ours} oifname != {ours} drop\n"
    return f"""\
table ip {NFT_TABLE} {{}}
delete table ip {NFT_TABLE}
table ip {NFT_TABLE} {{
  chain postrouting {{
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr {sources} oifname != "{config.BRIDGE}" masquerade
  }}
  chain forward {{
    type filter hook forward priority filter; policy accept;
    iifname != {ours} oifname {ours} ct state != {{ established, related }} drop
{others}  }}
  chain input {{
    type filter hook input priority filter; policy accept;
    iifname != {ours} iifname != "lo" ip daddr {own} drop
  }}
}}
"""


def links() -> set[str]:
    return {name for _, name in socket.if_nameindex()}


def of_nodes() -> list[str]:
    """The machine's ends of the nodes' links."""
    return sorted(name for name in links() if name.startswith("sw-node"))


def ports(node: Node) -> dict[str, str]:
    """The machine's ends of a node's links, and the bridges they belong to."""
    return {
        node.veth: config.BRIDGE,
        node.tunnel_veth: config.TUNNEL_BRIDGE,
        node.external_veth: config.EXTERNAL_BRIDGE,
    }


def is_attached(node: Node) -> bool:
    listed: list[dict[str, Any]] = json.loads(run(["ip", "-json", "link"]))
    masters = {link["ifname"]: link.get("master") for link in listed}
    return node.pod_cidr in _routes() and all(masters.get(port) == bridge for port, bridge in ports(node).items())


def _routes() -> set[str]:
    routes: list[dict[str, Any]] = json.loads(run(["ip", "-json", "route"]) or "[]")
    return {route["dst"] for route in routes if route.get("dev") == config.BRIDGE}


def attach(node: Node) -> None:
    """Connect what is there already; repeated, it mends what somebody took away."""
    run(["ip", "-batch", "-"], stdin=attach_commands(node))


def attach_commands(node: Node) -> str:
    lines = [f"link set {port} master {bridge} up" for port, bridge in ports(node).items()]
    lines.append(f"route replace {node.pod_cidr} via {node.address} dev {config.BRIDGE} onlink")
    if node.index == 1:
        lines.append(f"route replace {config.SERVICE_NETWORK} via {node.address} dev {config.BRIDGE} onlink")
    return "\n".join(lines) + "\n"


def remove_all() -> None:
    for name in [*of_nodes(), *config.BRIDGES]:
        if name in links():
            succeeds(["ip", "link", "del", name])
    succeeds(["nft", "delete", "table", "ip", NFT_TABLE])
