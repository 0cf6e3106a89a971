"""The rules of a cluster's security groups. Pure.

They open the ports that kubeadm needs, as in Cluster API Provider OpenStack. A rule is identified by its content, not
its name: Neutron rejects a second rule with the same meaning in any notation, and a changed rule is a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from stackwright.controllers.capicluster.record import group
from stackwright.controllers.infra.managed_resources import DesiredResource
from stackwright.core.digest import digest
from stackwright.core.openstack.group_rules import meaning
from stackwright.core.openstack.resources import ResourceKey

CONTROL_PLANE, WORKER, BASTION = "controlplane", "worker", "bastion"
NODES = (CONTROL_PLANE, WORKER)
SSH, ETCD, KUBELET, NODE_PORTS = (22, 22), (2379, 2380), (10250, 10250), (30000, 32767)
_FIELDS = {
    "direction": "direction",
    "etherType": "ethertype",
    "protocol": "protocol",
    "portRangeMin": "port_range_min",
    "portRangeMax": "port_range_max",
    "remoteGroupID": "remote_group_id",
    "remoteIPPrefix": "remote_ip_prefix",
}


@dataclass(frozen=True)
class Rule:
    """A rule of the group `group`.  remote  name of another group of the cluster, or empty"""

    group: str
    body: Mapping[str, Any]
    remote: str = ""
    text: str = ""

    @property
    def resource_key(self) -> ResourceKey:
        return ("security-group-rule", f"{self.group}-{digest(self.body, self.remote)[:10]}")

    @property
    def meaning(self) -> tuple[Any, ...]:
        return (self.group, self.remote, *meaning(self.body))

    def request(self, ids: Mapping[ResourceKey, Any]) -> dict[str, Any]:
        remote = {"remote_group_id": ids[group(self.remote)]} if self.remote else {}
        return {"security_group_id": ids[group(self.group)], **self.body, **remote, "description": self.text}


def parts(managed: Mapping[str, Any], api_port: int, bastion: bool) -> Iterator[DesiredResource]:
    """`managed` is spec.managedSecurityGroups. The first of several rules with the same meaning is kept, so the default
    rules stay.
    """
    groups = (*NODES, BASTION) if bastion else NODES
    every = (*_usual(bool(managed.get("allowAllInClusterTraffic")), api_port, groups), *_custom(managed, groups))
    first: dict[tuple[Any, ...], Rule] = {}
    for rule in every:
        first.setdefault(rule.meaning, rule)
    yield from (DesiredResource(rule.resource_key, partial(Rule.request, rule)) for rule in first.values())


def _let(text: str, to: str, ports: tuple[int, int] | None, *remotes: str, protocol: str = "tcp") -> Iterator[Rule]:
    """Rules for ingress from the groups `remotes`, or from anywhere without any."""
    body: dict[str, Any] = {"direction": "ingress", "ethertype": "IPv4"}
    if ports:
        body |= {"protocol": protocol, "port_range_min": ports[0], "port_range_max": ports[1]}
    return (Rule(to, body, remote, text) for remote in remotes or ("",))


def _usual(everything: bool, api_port: int, groups: tuple[str, ...]) -> Iterator[Rule]:
    for to in groups:
        for version in ("IPv4", "IPv6"):
            yield Rule(to, {"direction": "egress", "ethertype": version}, text="Everything out")
    if BASTION in groups:
        yield from _let("SSH", BASTION, SSH)
        for to in NODES:
            yield from _let("SSH", to, SSH, BASTION)
    yield from _let("Kubernetes API", CONTROL_PLANE, (api_port, api_port))
    for protocol in ("tcp", "udp"):
        yield from _let("Node ports", WORKER, NODE_PORTS, protocol=protocol)
    if everything:
        yield from _inside()
        return
    yield from _let("etcd", CONTROL_PLANE, ETCD, CONTROL_PLANE)
    for to in NODES:
        yield from _let("Kubelet", to, KUBELET, *NODES)


def _inside() -> Iterator[Rule]:
    """All traffic between the nodes."""
    for to in NODES:
        for remote in NODES:
            for version in ("IPv4", "IPv6"):
                yield Rule(to, {"direction": "ingress", "ethertype": version}, remote, "Everything inside")


def _custom(managed: Mapping[str, Any], groups: tuple[str, ...]) -> Iterator[Rule]:
    lists = (
        ("clusterNodesSecurityGroupRules", NODES),
        ("controlPlaneNodesSecurityGroupRules", (CONTROL_PLANE,)),
        ("workerNodesSecurityGroupRules", (WORKER,)),
    )
    for field, to in lists:
        for rule in managed.get(field) or ():
            yield from (each for name in to for each in _of(rule, name, groups))


def _of(rule: Mapping[str, Any], to: str, groups: Iterable[str]) -> Iterator[Rule]:
    """One rule for each of our groups that the rule names; groups that do not exist are skipped."""
    body = {
        "ethertype": "IPv4",
        **{name: rule[field] for field, name in _FIELDS.items() if rule.get(field) is not None},
    }
    remotes = rule.get("remoteManagedGroups")
    text = str(rule.get("description") or rule["name"])
    return (Rule(to, body, remote, text) for remote in (remotes or ("",)) if not remotes or remote in groups)
