"""A node's side of the network: a namespace and three network interfaces (drawn in `local/host/network.py`).

`tunnel0` and `ext0` are for Open vSwitch, which may run in user space. It then gets a copy of each frame, and the
node's kernel gets the frame, too; so the kernel must not react unless the address belongs to that interface.
"""

from __future__ import annotations

from pathlib import Path

from stackwright.local import config
from stackwright.local.commands import run, succeeds
from stackwright.local.config import Node
from stackwright.local.host import network, offload

TUNNEL, EXTERNAL = "tunnel0", "ext0"
SETTINGS = (
    "net.ipv4.ip_forward=1",
    "net.ipv4.conf.all.rp_filter=0",
    "net.ipv4.conf.default.rp_filter=0",
    f"net.ipv4.conf.{TUNNEL}.arp_ignore=1",
    f"net.ipv4.conf.{EXTERNAL}.arp_ignore=1",
)


def namespaces() -> set[str]:
    """Names of the cluster's network namespaces."""
    place = Path("/run/netns")
    return {path.name for path in place.glob("stackwright-*")} if place.is_dir() else set()


def exists(node: Node) -> bool:
    return node.netns in namespaces() and network.has_ports(node)


def make(node: Node) -> None:
    """Create the namespace with its links, after the removal of old or incomplete ones."""
    remove(node)
    run(["ip", "netns", "add", node.netns])
    inside = ["ip", "netns", "exec", node.netns]
    run(["ip", "-batch", "-"], stdin=link_commands(node))
    for veth, peer in ((node.tunnel_veth, _peer(node, "t")), (node.external_veth, _peer(node, "e"))):
        offload.switch_off(veth)
        offload.switch_off(peer)
    run(["ip", "-batch", "-"], stdin=move_commands(node))
    run([*inside, "sysctl", "-qw", *SETTINGS])
    if Path("/proc/sys/net/ipv6").is_dir():
        run([*inside, "sysctl", "-qw", f"net.ipv6.conf.{EXTERNAL}.disable_ipv6=1"])
    run([*inside, "nft", "-f", "-"], stdin=RULES)
    run(["ip", "-n", node.netns, "-batch", "-"], stdin=address_commands(node))


RULES = f"""\
table ip stackwright {{
  chain prerouting {{
    type filter hook prerouting priority raw; policy accept;
    iifname {{ "{TUNNEL}", "{EXTERNAL}" }} fib daddr . iif type != {{ local, broadcast, multicast }} drop
  }}
}}
"""


def _peer(node: Node, mark: str) -> str:
    """Temporary name of a link until it is moved into the node."""
    return f"sw-node{node.index}-{mark}p"


def link_commands(node: Node) -> str:
    return (
        f"link add {node.veth} netns {config.ROUTER} type veth peer name eth0 netns {node.netns}\n"
        f"link add {node.tunnel_veth} type veth peer name {_peer(node, 't')}\n"
        f"link add {node.external_veth} type veth peer name {_peer(node, 'e')}\n"
    )


def move_commands(node: Node) -> str:
    return (
        f"link set {node.tunnel_veth} netns {config.ROUTER}\n"
        f"link set {node.external_veth} netns {config.ROUTER}\n"
        f"link set {_peer(node, 't')} netns {node.netns} name {TUNNEL}\n"
        f"link set {_peer(node, 'e')} netns {node.netns} name {EXTERNAL}\n"
    )


def address_commands(node: Node) -> str:
    return (
        "link set lo up\n"
        f"address add {node.address}/{config.BRIDGE_PREFIX} dev eth0\n"
        "link set eth0 up\n"
        f"route add default via {config.BRIDGE_ADDRESS}\n"
        f"address add {node.tunnel_address}/{config.BRIDGE_PREFIX} dev {TUNNEL}\n"
        f"link set {TUNNEL} up\n"
        f"link set {EXTERNAL} up\n"
    )


def ensure_routes(node: Node, others: list[Node]) -> None:
    """Set the routes to the pods of other nodes; called whenever a node joins."""
    routes = "".join(f"route replace {n.pod_cidr} via {n.address}\n" for n in others if n != node)
    run(["ip", "-n", node.netns, "-batch", "-"], stdin=routes)


def remove(node: Node) -> None:
    network.detach(node, _peer(node, "t"), _peer(node, "e"))
    if node.netns in namespaces():
        run(["ip", "netns", "del", node.netns])


def remove_all() -> None:
    for name in namespaces():
        succeeds(["ip", "netns", "del", name])
