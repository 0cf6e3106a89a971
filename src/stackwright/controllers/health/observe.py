"""Reads the Deployments, StatefulSets, DaemonSets and Pods of the cloud's namespace."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.kinds import POD, WORKLOADS
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.objects import label
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader


@dataclass(frozen=True)
class Observed:
    obj: Object
    workloads: tuple[Object, ...]
    pods: tuple[Object, ...]


async def observe(reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(OpenStackDeployment.KIND, key)
    if obj is None:
        return None
    workloads: list[Object] = []
    for kind in WORKLOADS:
        workloads += [{"kind": kind.kind, **w} for w in await reader.list(kind, key[0]) if label(w, "application")]
    return Observed(obj, tuple(workloads), tuple(await reader.list(POD, key[0])))
