"""Clusters, machines and servers joined into trees, down to ports, volumes and addresses. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from stackwright.cli.state.objects import World
from stackwright.cli.ui.resource_tree import node
from stackwright.cli.ui.tree import READY, Node
from stackwright.controllers.infra.clusterapi import NAME, cluster_name
from stackwright.core.objects import belongs, label
from stackwright.core.plan import Object

NAMES = {"floating-ip": "floating IP", "security-group": "security group"}
PARTS = (("port", "ports"), ("trunk", "trunks"), ("volume", "volumes"), ("floating IP", "floatingIPs"))


def trees(now: float, clusters: Iterable[Object], machines: Iterable[Object], servers: Iterable[Object]) -> list[Node]:
    """One tree per cluster; then the machines and servers without a cluster."""
    joined = _Joined(World(now), list(machines), list(servers))
    found = [joined.cluster(each) for each in clusters]
    found += [joined.machine(each) for each in joined.left(joined.machines)]
    return [*found, *(joined.server(each) for each in joined.left(joined.servers))]


def shared(status: Object) -> tuple[Node, ...]:
    """The resources of a cluster; rules are shown with their groups, floating IPs with their place."""
    at = {
        "api": (status.get("apiServerFloatingIP") or {}).get("address"),
        "bastion": (status.get("bastion") or {}).get("floatingIP"),
    }
    made = [each for each in status.get("resources") or () if each["type"] != "security-group-rule"]
    told = ((each, at.get(each["name"]) if each["type"] == "floating-ip" else None) for each in made)
    return tuple(
        Node(
            READY,
            " ".join(part for part in (NAMES.get(each["type"], each["type"]), each["name"], where, each["id"]) if part),
        )
        for each, where in told
    )


class _Joined:
    def __init__(self, world: World, machines: list[Object], servers: list[Object]) -> None:
        self.world, self.machines, self.servers = world, machines, servers
        self._placed: set[str] = set()

    def left(self, objects: list[Object]) -> list[Object]:
        return [each for each in objects if each["metadata"]["uid"] not in self._placed]

    def _place(self, objects: Iterable[Object]) -> list[Object]:
        found = list(objects)
        self._placed |= {each["metadata"]["uid"] for each in found}
        return found

    def _below(self, owner: Object) -> tuple[Node, ...]:
        uid = owner["metadata"]["uid"]
        return tuple(self.server(each) for each in self._place(e for e in self.servers if belongs(e, uid)))

    def cluster(self, obj: Object) -> Node:
        """Shared resources, the bastion, and the machines, which name their cluster by a label."""
        meta = obj["metadata"]
        mine = self._place(
            each
            for each in self.machines
            if label(each, NAME) == cluster_name(obj) and each["metadata"]["namespace"] == meta["namespace"]
        )
        status = obj.get("status") or {}
        endpoint = status.get("controlPlaneEndpoint") or {}
        facts = (f"{endpoint['host']}:{endpoint['port']}",) if endpoint else ()
        return node(
            self.world, obj, (*shared(status), *self._below(obj), *(self.machine(each) for each in mine)), facts
        )

    def machine(self, obj: Object) -> Node:
        return node(self.world, obj, self._below(obj))

    def server(self, obj: Object) -> Node:
        status = obj.get("status") or {}
        parts = [
            Node(READY, " ".join(part for part in (what, entry.get("name"), entry["id"]) if part))
            for what, field in PARTS
            for entry in (status.get("resources") or {}).get(field) or ()
        ]
        addresses = [a["address"] for a in status.get("addresses") or () if a["type"] != "InternalDNS"]
        facts = [str(status[field]) for field in ("instanceState", "instanceID") if status.get(field)]
        return node(self.world, obj, tuple(parts), (*facts, *addresses))
