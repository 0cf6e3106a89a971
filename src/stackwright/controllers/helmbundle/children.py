"""status.children of an OpenStackDeployment: one entry per HelmBundle in its namespace."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.conditions import is_ready, why_not_ready
from stackwright.core.objects import is_deleting
from stackwright.core.plan import Key, Object, Plan
from stackwright.core.ports import Reader


@dataclass(frozen=True)
class Observed:
    obj: Object
    bundles: tuple[Object, ...]


async def observe(reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(OpenStackDeployment.KIND, key)
    if obj is None:
        return None
    return Observed(obj, tuple(await reader.list(HelmBundle.KIND, key[0])))


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return Plan()
    children = {}
    for bundle in sorted(seen.bundles, key=lambda b: str(b["metadata"]["name"])):
        ready = is_ready(bundle)
        message = "" if ready else why_not_ready(bundle)
        children[bundle["metadata"]["name"]] = {"ready": ready, "message": message}
    return Plan(status={"children": children})
