"""What the server controller sees: the object, its cloud, what it has there, and what its names mean there.

Whatever a cloud may answer becomes a value: `trouble`. Lists of a project are shared by all servers in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from stackwright.api.meta import Kind
from stackwright.api.openstackserver import OpenStackServer
from stackwright.controllers.identity import cloud_of
from stackwright.controllers.server.record import record_of
from stackwright.controllers.server.resolve import Resolved, resolve
from stackwright.core.clouds import Asker, CloudRef, Clouds, Denied, Look, Trouble, What, ids
from stackwright.core.conditions import Condition, blocked, waiting
from stackwright.core.objects import has_finalizer, is_deleting
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader

NAME = "server"
KINDS: tuple[What, ...] = ("server", "port", "trunk", "volume")
KIND = OpenStackServer.KIND
IMAGE = Kind("openstack.k-orc.cloud", "v1alpha1", "Image", "images")
CLAIM = Kind("ipam.cluster.x-k8s.io", "v1beta1", "IPAddressClaim", "ipaddressclaims")
ADDRESS = Kind("ipam.cluster.x-k8s.io", "v1beta1", "IPAddress", "ipaddresses")
PAUSED = "cluster.x-k8s.io/paused"
AUTHENTICATION, CLOUD = "OpenStackAuthenticationSucceeded", "CloudReachable"
ROUNDS = 4  # of questions that follow from answers: the network, its subnet, the network of a subnet
LOGIN = (
    "AuthenticationFailed",
    "CredentialsMissing",
    "CredentialsInvalid",
    "IdentityNotFound",
    "BlockedIdentityAccessDenied",
)


@dataclass(frozen=True)
class Observed:
    """cloud     None while nobody knows where to log in
    trouble   why the cloud could not be asked; there is no look then
    resolved  what the names of the spec mean; None where that is in the status
    """

    obj: Object
    now: float
    spec: Mapping[str, Any]
    errors: tuple[str, ...] = ()
    paused: bool = False
    cloud: CloudRef | None = None
    trouble: Condition | None = None
    look: Look | None = None
    resolved: Resolved | None = None


async def observe(clouds: Clouds, reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(KIND, key)
    if obj is None:
        return None
    spec, errors = OpenStackServer.parsed(obj)
    seen = Observed(obj, now, spec, tuple(errors), paused=PAUSED in (obj["metadata"].get("annotations") or {}))
    going = is_deleting(obj)
    if seen.paused or (errors and not going) or (going and not has_finalizer(obj)) or not spec.get("identityRef"):
        return seen
    if going and spec.get("credentialsLostPolicy") == "Orphan":
        return seen
    try:
        cloud = await cloud_of(reader, key[0], spec["identityRef"])
        seen = replace(seen, cloud=cloud)
        look = await clouds.look(cloud, _asker(obj))
        if (obj.get("status") or {}).get("resolved") or going:
            return replace(seen, look=look)
        return replace(seen, look=look, resolved=await _resolved(seen, clouds, cloud, reader))
    except (Trouble, Denied) as error:
        return replace(seen, trouble=told(error))


def told(error: Trouble | Denied) -> Condition:
    stage = AUTHENTICATION if error.reason in LOGIN else CLOUD
    return (
        waiting(stage, str(error), error.reason)
        if isinstance(error, Trouble)
        else blocked(stage, error.reason, str(error))
    )


def _asker(obj: Object) -> Asker:
    meta, status = obj["metadata"], obj.get("status") or {}
    waits = is_deleting(obj) or not status.get("ready")
    owned = ids(record_of(status).items())
    return Asker(
        NAME, (meta["namespace"], meta["name"]), meta["uid"], KINDS, owned, waits, bool(status.get("resolved"))
    )


async def _resolved(seen: Observed, clouds: Clouds, cloud: CloudRef, reader: Reader) -> Resolved:
    name, namespace = seen.obj["metadata"]["name"], seen.obj["metadata"]["namespace"]
    answers: dict[Any, Any] = {}
    images = await _images(seen.spec, namespace, reader)
    found = resolve(name, seen.spec, answers, images)
    for _ in range(ROUNDS):
        if not found.missing:
            break
        for asked in found.missing:
            answers[asked] = await clouds.find(cloud, asked)
        found = resolve(name, seen.spec, answers, images)
    return found


async def _images(spec: Mapping[str, Any], namespace: str, reader: Reader) -> dict[str, str]:
    """The id of an Image object of the openstack-resource-controller, once it has one."""
    reference = (spec.get("image") or {}).get("imageRef")
    if not reference:
        return {}
    found = await reader.get(IMAGE, (namespace, reference["name"]))
    id_ = ((found or {}).get("status") or {}).get("id")
    return {reference["name"]: str(id_)} if id_ else {}
