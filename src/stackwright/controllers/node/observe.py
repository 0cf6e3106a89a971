"""Reads all nodes of the cluster."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.kinds import NODE
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader


@dataclass(frozen=True)
class Observed:
    obj: Object
    nodes: tuple[Object, ...]


async def observe(reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(OpenStackDeployment.KIND, key)
    return None if obj is None else Observed(obj, tuple(await reader.list(NODE)))
