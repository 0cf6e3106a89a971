"""Builds the OpenStackServer of a cluster's machine or bastion. Pure.

Fields that the machine leaves empty are taken from its cluster. The server is created once and then left unchanged,
except for the mutable fields of every server: the credentials, and the policy for lost resources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from stackwright.api.infra.server import OpenStackServer, OpenStackServerSpec
from stackwright.api.meta import OURS
from stackwright.controllers.infra.clusterapi import NAME
from stackwright.controllers.infra.origin import inherited
from stackwright.core.digest import digest
from stackwright.core.objects import annotation, belongs, covers, key_of, label, owned
from stackwright.core.plan import Apply, Key, Object

SERVER_KIND = OpenStackServer.KIND
INSTANCE = "InstanceReady"  # condition of a server and of its owner
MADE_OF = f"{OURS}/made-of"  # annotation of an OpenStackServer: digest of all immutable fields
PASSED_ON = ("identityRef", "recreatePolicy", "credentialsLostPolicy")
_SAME = (
    "image", "sshKeyName", "trunk", "serverMetadata", "configDrive", "rootVolume", "additionalBlockDevices",
    "serverGroup", "floatingIPPoolRef", "schedulerHintAdditionalProperties", "recreatePolicy", "credentialsLostPolicy",
)  # fmt: skip


@dataclass(frozen=True)
class ClusterDefaults:
    """Defaults of a cluster for its machines.

    network  id of the network, or empty;  subnets  references as ports name them
    secured  whether ports of the network have port security;  group  id of the managed security group, or empty
    """

    identity: Mapping[str, Any]
    tags: tuple[str, ...] = ()
    network: str = ""
    subnets: tuple[Mapping[str, Any], ...] = ()
    secured: bool = True
    group: str = ""


def cluster_defaults(spec: Mapping[str, Any], status: Mapping[str, Any], group: str) -> ClusterDefaults:
    """The defaults of a cluster; `group` is the status field with the security group."""
    network = status.get("network") or {}
    subnets = [{"id": each["id"]} for each in network.get("subnets") or ()]
    return ClusterDefaults(
        spec.get("identityRef") or {},
        tuple(spec.get("tags") or ()),
        str(network.get("id") or ""),
        (spec["primarySubnet"],) if spec.get("primarySubnet") else tuple(subnets),
        (spec.get("managedNetwork") or {}).get("enablePortSecurity") is not False,
        str((status.get(group) or {}).get("id") or ""),
    )


def lacks_network(machine: Mapping[str, Any], place: ClusterDefaults) -> bool:
    """Whether a port has no network, and the cluster has no default network."""
    return not place.network and any(map(_is_open, _ports(machine)))


def server_spec(machine: Mapping[str, Any], place: ClusterDefaults, **more: Any) -> dict[str, Any]:
    """The spec of the server; `more` adds fields that machines do not have."""
    flavor = machine["flavor"]
    named = {"flavorID": flavor["id"]} if flavor.get("id") else {"flavor": flavor["filter"]["name"]}
    spec = {
        **{name: machine[name] for name in _SAME if name in machine},
        **named,
        "identityRef": dict(machine.get("identityRef") or place.identity),
        "tags": sorted({*(machine.get("tags") or ()), *place.tags}),
        "ports": [_port(port, machine, place) for port in _ports(machine)],
        **more,
    }
    return dict(_without_empty(spec))


def _without_empty(value: Any) -> Any:
    """The value without absent and empty members, at any depth."""
    if isinstance(value, Mapping):
        members = {name: _without_empty(each) for name, each in value.items()}
        return {name: each for name, each in members.items() if each not in (None, {}, [])}
    return [_without_empty(each) for each in value] if isinstance(value, list | tuple) else value


def _ports(machine: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The ports of the machine; without any, one with all defaults."""
    return machine.get("ports") or [{}]


def _is_open(port: Mapping[str, Any]) -> bool:
    """Whether neither the port nor its fixed IPs name a network or subnet."""
    return not port.get("network") and not any(each.get("subnet") for each in port.get("fixedIPs") or ())


def _port(port: Mapping[str, Any], machine: Mapping[str, Any], place: ClusterDefaults) -> dict[str, Any]:
    made, ours = dict(port), _is_open(port)
    if ours:
        made["network"] = {"id": place.network}
        made["fixedIPs"] = port.get("fixedIPs") or [{"subnet": dict(subnet)} for subnet in place.subnets]
    secured = port.get("enablePortSecurity")
    if secured is False or (secured is None and ours and not place.secured):
        return made
    managed = [{"id": place.group}] if place.group else []
    groups = [*(port.get("securityGroups") or managed), *(machine.get("securityGroups") or ())]
    return {**made, "securityGroups": list(_unique(groups))}


def _unique(values: Iterable[Any]) -> Iterable[Any]:
    return {digest(value): value for value in values}.values()


def server_object(key: Key, owner: Object, spec: Mapping[str, Any], cluster: str) -> Object:
    return _object(key, owner, spec, cluster, made_of(spec))


def _object(key: Key, owner: Object, spec: Mapping[str, Any], cluster: str, origin: str) -> Object:
    obj = owned(SERVER_KIND, key, owner, spec, {NAME: cluster})
    return {**obj, "metadata": {**obj["metadata"], "annotations": {MADE_OF: origin, **inherited(owner)}}}


def adopted(server: Object, owner: Object) -> tuple[Apply, ...]:
    """The update that makes `owner`, whose UID has changed, the owner of a server from a backup again."""
    if belongs(server, owner["metadata"]["uid"]):
        return ()
    return (_again(server, owner, server["spec"], "taken over"),)


def _again(server: Object, owner: Object, spec: Mapping[str, Any], why: str) -> Apply:
    """An update with the UID of the server, so that it creates none if the server was deleted meanwhile."""
    obj = _object(key_of(server), owner, spec, label(server, NAME), annotation(server, MADE_OF))
    obj["metadata"]["uid"] = server["metadata"]["uid"]
    return Apply(SERVER_KIND, obj, why)


def made_of(spec: Mapping[str, Any]) -> str:
    """Digest of the spec without mutable fields and without explicit defaults."""
    try:
        parsed = OpenStackServerSpec.model_validate(spec)
    except ValidationError:
        return digest(spec)  # the API server rejects it with a message
    said = parsed.model_dump(by_alias=True, exclude_none=True, exclude_defaults=True)
    return digest({name: value for name, value in said.items() if name not in PASSED_ON})


def propagated(
    server: Object, owner: Object, machine: Mapping[str, Any], identity: Mapping[str, Any] | None
) -> tuple[Apply, ...]:
    """Updates of mutable fields that the machine, or the cluster's identity, has changed."""
    have = server["spec"]
    want = {**machine, "identityRef": machine.get("identityRef") or identity}
    changed = {name: want[name] for name in PASSED_ON if want.get(name) and not covers(have.get(name), want[name])}
    if not changed:
        return ()
    return (_again(server, owner, {**have, **changed}, "passed on"),)
