"""The machine's side of the nodes' network: one bridge, a network namespace per node, routes to the pods.

    machine 10.89.0.1 ── sw-br0 ─┬─ sw-node1 ═ eth0 10.89.0.11 in stackwright-node1 ── pods 10.244.1.0/24
                                 └─ sw-node2 ═ eth0 10.89.0.12 in stackwright-node2 ── pods 10.244.2.0/24
Nodes reach each other's pods straight over the bridge; the machine reaches pods by a route per node, and Services
through the first node's rules. One nftables table, ours alone, lets pods reach the outside.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from stackwright.local import config
from stackwright.local.commands import run, succeeds
from stackwright.local.config import LocalCluster, Node

NFT_TABLE = "stackwright"
FORWARD = Path("/proc/sys/net/ipv4/ip_forward")


def ensure_bridge(cluster: LocalCluster) -> None:
    if config.BRIDGE not in links():
        run(["ip", "link", "add", config.BRIDGE, "type", "bridge"])
        run(["ip", "address", "add", f"{config.BRIDGE_ADDRESS}/{config.BRIDGE_PREFIX}", "dev", config.BRIDGE])
    # A bridge without an attached link is down for others; its own address answers all the same.
    run(["ip", "link", "set", config.BRIDGE, "up"])
    _ensure_forwarding(cluster)
    if not succeeds(["nft", "list", "table", "ip", NFT_TABLE]):
        run(["nft", "-f", "-"], stdin=nat_rules())


def bridge_is_up() -> bool:
    """Whoever took the bridge away took the routes over it too, so its presence is a good witness."""
    return config.BRIDGE in links() and FORWARD.read_text().strip() == "1"


def nat_rules() -> str:
    sources = f"{{ {config.NODE_NETWORK}, {config.POD_NETWORK} }}"
    return f"""\
table ip {NFT_TABLE} {{
  chain postrouting {{
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr {sources} oifname != "{config.BRIDGE}" masquerade
  }}
}}
"""


def _ensure_forwarding(cluster: LocalCluster) -> None:
    """Remember what the machine had, for `down` to put back."""
    memory = cluster.run / "ip_forward.before"
    before = FORWARD.read_text().strip()
    if before != "1":
        memory.parent.mkdir(parents=True, exist_ok=True)
        memory.write_text(before)
        FORWARD.write_text("1")


def restore_forwarding(cluster: LocalCluster) -> None:
    memory = cluster.run / "ip_forward.before"
    if memory.exists():
        FORWARD.write_text(memory.read_text())
        memory.unlink()


def links() -> set[str]:
    return {name for _, name in socket.if_nameindex()}


def namespaces() -> set[str]:
    """Ours only."""
    place = Path("/run/netns")
    return {path.name for path in place.glob("stackwright-*")} if place.is_dir() else set()


def is_connected(node: Node) -> bool:
    return node.veth in links() and node.netns in namespaces() and node.pod_cidr in _host_routes()


def _host_routes() -> set[str]:
    routes: list[dict[str, Any]] = json.loads(run(["ip", "-json", "route"]) or "[]")
    return {route["dst"] for route in routes if route.get("dev") == config.BRIDGE}


def ensure_node(node: Node, others: list[Node]) -> None:
    """Connect a node. Whatever is half there is thrown away: nothing runs in it yet."""
    if not is_connected(node):
        remove_node(node)
        run(["ip", "netns", "add", node.netns])
        run(["ip", "-batch", "-"], stdin=_host_commands(node))
        run(["ip", "-n", node.netns, "-batch", "-"], stdin=_node_commands(node))
        inside = ["ip", "netns", "exec", node.netns, "sysctl", "-qw"]
        run([*inside, "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0"])
    routes = "".join(f"route replace {n.pod_cidr} via {n.address}\n" for n in others if n != node)
    run(["ip", "-n", node.netns, "-batch", "-"], stdin=routes)


def _host_commands(node: Node) -> str:
    services = f"route replace {config.SERVICE_NETWORK} via {node.address}\n" if node.index == 1 else ""
    return (
        f"link add {node.veth} type veth peer name eth0 netns {node.netns}\n"
        f"link set {node.veth} master {config.BRIDGE} up\n"
        f"route replace {node.pod_cidr} via {node.address} dev {config.BRIDGE} onlink\n" + services
    )


def _node_commands(node: Node) -> str:
    return (
        "link set lo up\n"
        f"address add {node.address}/{config.BRIDGE_PREFIX} dev eth0\n"
        "link set eth0 up\n"
        f"route add default via {config.BRIDGE_ADDRESS}\n"
    )


def remove_node(node: Node) -> None:
    succeeds(["ip", "route", "del", node.pod_cidr, "via", node.address])
    succeeds(["ip", "link", "del", node.veth])
    if node.netns in namespaces():
        run(["ip", "netns", "del", node.netns])


def remove_all(cluster: LocalCluster) -> None:
    for name in namespaces():
        succeeds(["ip", "netns", "del", name])
    for name in links():
        if name.startswith("sw-node") or name == config.BRIDGE:
            succeeds(["ip", "link", "del", name])
    succeeds(["nft", "delete", "table", "ip", NFT_TABLE])
    restore_forwarding(cluster)
