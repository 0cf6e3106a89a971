"""What the helmbundle controller sees: Helm's own records of the releases, and their workloads and pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackwright.api.helmbundle import HelmBundle
from stackwright.api.kinds import JOB, POD, SECRET, WORKLOADS
from stackwright.core.helmrecords import releases
from stackwright.core.objects import label
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader, Release
from stackwright.core.settings import Settings

INSTANCE = "app.kubernetes.io/instance"


@dataclass(frozen=True)
class Observed:
    """records    release → what Helm knows of it; the truth about what is deployed
    workloads  release → its Deployments, StatefulSets, DaemonSets and Jobs
    """

    settings: Settings
    obj: Object
    now: float
    records: Mapping[str, Release] = field(default_factory=dict)
    workloads: Mapping[str, tuple[Object, ...]] = field(default_factory=dict)
    pods: tuple[Object, ...] = ()


async def observe(settings: Settings, reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(HelmBundle.KIND, key)
    if obj is None:
        return None
    names = [release["name"] for release in obj["spec"]["releases"]]
    records = releases(await reader.list(SECRET, key[0], {"owner": "helm"}))
    workloads: dict[str, tuple[Object, ...]] = dict.fromkeys(names, ())
    for kind in (*WORKLOADS, JOB):
        for found in await reader.list(kind, key[0]):
            if (release := label(found, INSTANCE)) in workloads:
                workloads[release] += ({"kind": kind.kind, **found},)
    pods = [pod for pod in await reader.list(POD, key[0]) if label(pod, INSTANCE) in workloads]
    return Observed(
        settings,
        obj,
        now,
        {name: record for name, record in records.items() if name in names},
        workloads,
        tuple(pods),
    )
