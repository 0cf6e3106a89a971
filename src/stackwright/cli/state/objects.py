"""Reads the objects of clouds in parallel, for `status` and `wait`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.api.kinds import JOB, POD, WORKLOADS
from stackwright.api.meta import Kind
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.registry import CLOUD_KINDS, CONTRACT_KINDS, SERVICE_KINDS
from stackwright.core.plan import Object
from stackwright.core.ports import Reader

KINDS = (
    *(resource.KIND for resource in (*CLOUD_KINDS, *SERVICE_KINDS, *CONTRACT_KINDS)),
    HelmBundle.KIND,
    *WORKLOADS,
    JOB,
    POD,
)


@dataclass(frozen=True)
class World:
    now: float
    objects: Mapping[Kind, list[Object]] = field(default_factory=dict)

    def of(self, *kinds: Kind) -> list[Object]:
        return [obj for kind in kinds for obj in self.objects.get(kind, ())]

    def owned(self, owner: Object, *kinds: Kind) -> list[Object]:
        uid = owner["metadata"].get("uid")
        return [obj for obj in self.of(*kinds) if any(ref["uid"] == uid for ref in owners(obj))]


async def read(reader: Reader, namespace: str, now: float) -> World:
    lists = await asyncio.gather(*(reader.list(kind, namespace) for kind in KINDS))
    return World(now, dict(zip(KINDS, lists, strict=True)))


def owners(obj: Object) -> list[Any]:
    return list(obj["metadata"].get("ownerReferences") or ())
