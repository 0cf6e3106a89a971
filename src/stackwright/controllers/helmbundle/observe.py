"""Reads Helm's records of the releases of a HelmBundle, and their workloads and pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stackwright.api.kinds import DAEMONSET, JOB, NODE, POD, SECRET, WORKLOADS
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.controllers.helmbundle.claims import claims, holder, makes, past, release_key, statuses_of
from stackwright.core import precache
from stackwright.core.ages import Ages
from stackwright.core.helm.records import SELECTOR, releases
from stackwright.core.objects import CLOUD, controller_of, key_of, label
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader, Release
from stackwright.core.settings import Settings
from stackwright.services.registry import BY_KIND

INSTANCE = "app.kubernetes.io/instance"


@dataclass(frozen=True)
class Observed:
    """records    release → Helm's record of it, the source of truth for what is deployed
    ages       release → seconds since its newest record last changed, independent of the wall clock
    workloads  release → its Deployments, StatefulSets, DaemonSets and Jobs
    taken      release that another HelmBundle owns → that HelmBundle
    made       whether a service object created this HelmBundle
    holder     the DaemonSet that holds the images of the cloud;  nodes  all nodes of the cluster
    """

    settings: Settings
    obj: Object
    records: Mapping[str, Release] = field(default_factory=dict)
    ages: Mapping[str, float] = field(default_factory=dict)
    workloads: Mapping[str, tuple[Object, ...]] = field(default_factory=dict)
    pods: tuple[Object, ...] = ()
    taken: Mapping[Key, Key] = field(default_factory=dict)
    made: bool = False
    holder: Object | None = None
    nodes: tuple[Object, ...] = ()

    def before(self, name: str) -> Object:
        """The last written status of a release; empty if the release was in another namespace then."""
        named = {release_key(self.obj, each) for each in self.obj["spec"]["releases"] if each["name"] == name}
        return dict(statuses_of(self.obj)[name]) if named & past(self.obj) else {}


async def observe(settings: Settings, ages: Ages, reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(HelmBundle.KIND, key)
    if obj is None:
        return None
    seen = Observed(settings, obj, taken=await _taken(settings, reader, obj), made=await _made(reader, obj))
    if label(obj, CLOUD):
        images = await reader.get(DAEMONSET, (key[0], precache.NAME))
        seen = replace(seen, holder=images, nodes=tuple(await reader.list(NODE)))
    wanted = [release_key(obj, release) for release in obj["spec"]["releases"]]
    for namespace in sorted({each for each, _ in wanted}):
        here = [name for each, name in wanted if each == namespace]
        seen = await _look(reader, namespace, here, seen)
    return replace(seen, ages={name: _age(ages, seen.before(name), record) for name, record in seen.records.items()})


def _age(ages: Ages, before: Object, record: Release) -> float:
    state = (record.revision, record.state, record.digest, record.updated)
    is_told = (before.get("revision"), before.get("digest")) == (record.revision, record.digest)
    return ages.of((record.namespace, record.name), state, float(before.get("waited") or 0) if is_told else 0.0)


async def _taken(settings: Settings, reader: Reader, obj: Object) -> dict[Key, Key]:
    """Releases that another HelmBundle owns → that HelmBundle."""
    mine, me = claims(settings, obj), key_of(obj)
    everybody = await reader.list(HelmBundle.KIND)
    others = [(other, claims(settings, other)) for other in everybody if key_of(other) != me]
    rivals = {key: [other for other, claimed in others if key in claimed] for key in mine}
    taken = {}
    for key in sorted(key for key, found in rivals.items() if found):
        records = releases(await reader.list(SECRET, key[0], SELECTOR))
        if (other := holder(key, records.get(key[1]), [obj, *rivals[key]])) != me:
            taken[key] = other
    return taken


async def _made(reader: Reader, obj: Object) -> bool:
    """Whether a service object created this HelmBundle."""
    ref = controller_of(obj)
    declared = BY_KIND.get(str(ref.get("kind")))
    if declared is None or ref.get("apiVersion") != declared.kind.api_version:
        return False
    return makes(declared, await reader.get(declared.kind, (obj["metadata"]["namespace"], str(ref["name"]))), obj)


async def _look(reader: Reader, namespace: str, names: list[str], seen: Observed) -> Observed:
    """`seen` with the releases of one more namespace."""
    records = releases(await reader.list(SECRET, namespace, SELECTOR))
    workloads: dict[str, tuple[Object, ...]] = dict.fromkeys(names, ())
    for kind in (*WORKLOADS, JOB):
        for found in await reader.list(kind, namespace):
            if (release := label(found, INSTANCE)) in workloads:
                workloads[release] += ({"kind": kind.kind, **found},)
    pods = [pod for pod in await reader.list(POD, namespace) if label(pod, INSTANCE) in workloads]
    return replace(
        seen,
        records={**seen.records, **{name: record for name, record in records.items() if name in names}},
        workloads={**seen.workloads, **workloads},
        pods=(*seen.pods, *pods),
    )
