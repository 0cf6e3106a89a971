"""Reads a cloud: its object, other clouds in the namespace, and the service objects that it owns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackwright.api.kinds import DAEMONSET, EVENT, NODE, POD, SECRET
from stackwright.api.meta import Kind
from stackwright.api.services.contracts import CephClient
from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.cloud.registry import SERVICE_KINDS
from stackwright.core.kubernetes import precache
from stackwright.core.kubernetes.pod_security import may_be_refused
from stackwright.core.objects import OWNER, owner_label
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader
from stackwright.core.settings import Settings

CLOUDS = (OpenStackDeployment.KIND, OpenStackControlPlane.KIND)


@dataclass(frozen=True)
class Observed:
    """settings  images of this version of Stackwright
    others    kinds and names of older clouds in the namespace
    services  (kind, name) → object, of all service kinds in the namespace
    holder    the DaemonSet that keeps the images on the nodes;  pods  its pods;  nodes  all nodes of the cluster
    events    those of the namespace, if the DaemonSet might not be allowed to create its pods
    secrets   Secrets that the cloud itself owns
    pull_secrets  name → Secret in the operator's namespace, and Secret in the cloud's
    clients   requests of services to a Ceph, which has their data
    """

    settings: Settings
    obj: Object
    others: tuple[str, ...] = ()
    services: Mapping[tuple[str, str], Object] = field(default_factory=dict)
    holder: Object | None = None
    nodes: tuple[Object, ...] = ()
    secrets: tuple[Object, ...] = ()
    pods: tuple[Object, ...] = ()
    pull_secrets: Mapping[str, tuple[Object | None, Object | None]] = field(default_factory=dict)
    events: tuple[Object, ...] = ()
    clients: tuple[Object, ...] = ()


async def observe(settings: Settings, reader: Reader, key: Key, now: float) -> Observed | None:
    return await observe_kind(OpenStackDeployment.KIND, settings, reader, key)


async def observe_kind(kind: Kind, settings: Settings, reader: Reader, key: Key) -> Observed | None:
    obj = await reader.get(kind, key)
    if obj is None:
        return None
    others = await older_clouds(kind, reader, obj)
    services = {}
    for resource in SERVICE_KINDS:
        for found in await reader.list(resource.KIND, key[0]):
            services[resource.KIND.kind, found["metadata"]["name"]] = found
    holder = await reader.get(DAEMONSET, (key[0], precache.NAME))
    holder = {"kind": DAEMONSET.kind, **holder} if holder else None
    events = await reader.list(EVENT, key[0]) if holder and may_be_refused(holder) else []
    pods = await reader.list(POD, key[0], precache.LABELS)
    secrets = await reader.list(SECRET, key[0], {OWNER: owner_label(obj)})
    nodes = await reader.list(NODE)
    pull_secrets = {
        name: (await reader.get(SECRET, (settings.namespace, name)), await reader.get(SECRET, (key[0], name)))
        for name in settings.pull_secrets
        if name not in settings.unreadable
    }
    return Observed(
        settings,
        obj,
        tuple(others),
        services,
        holder,
        tuple(nodes),
        tuple(secrets),
        tuple(pods),
        pull_secrets,
        tuple(events),
        tuple(await reader.list(CephClient.KIND, key[0])),
    )


async def older_clouds(kind: Kind, reader: Reader, obj: Object) -> list[str]:
    """Kinds and names of the clouds of the namespace that are older than this one, the oldest first."""
    namespace = obj["metadata"]["namespace"]
    clouds = [_identity(each, cloud) for each in CLOUDS for cloud in await reader.list(each, namespace)]
    return [f"{each} {name}" for age, name, each in sorted(clouds) if (age, name, each) < _identity(kind, obj)]


def _identity(kind: Kind, cloud: Object) -> tuple[str, str, str]:
    """Sort key of clouds: the creation time is the first part."""
    meta = cloud["metadata"]
    return str(meta.get("creationTimestamp", "")), meta["name"], kind.kind
