"""Reads Helm's records of the releases of a HelmBundle, and their workloads and pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from stackwright.api.kinds import DAEMONSET, EVENT, JOB, NODE, POD, SECRET, WORKLOADS
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.controllers.helmbundle.claims import (
    claims,
    has_created,
    installed_by,
    recorded_releases,
    release_key,
    release_owner,
    releases_to_uninstall,
    statuses_of,
)
from stackwright.controllers.helmbundle.validate import permitted
from stackwright.core.ages import Ages, Progress
from stackwright.core.helm.records import SELECTOR, manifest_digest, record_name, releases, revisions
from stackwright.core.helm.rollouts import counts, is_as_wanted, is_held
from stackwright.core.kubernetes import nodes, precache
from stackwright.core.kubernetes.pod_security import may_be_refused
from stackwright.core.kubernetes.workload_health import workload_ready
from stackwright.core.objects import CLOUD, controller_of, key_of, label
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader, Release
from stackwright.core.settings import Settings
from stackwright.services.registry import BY_KIND

INSTANCE = "app.kubernetes.io/instance"


@dataclass(frozen=True)
class Observed:
    """records    release → Helm's record of the deployed revision, which is authoritative
    ages       release → seconds since its newest record changed, by a monotonic clock
    progress   release → progress of its pods since then
    workloads  release → its Deployments, StatefulSets, DaemonSets and Jobs
    taken      release that another HelmBundle owns → that HelmBundle
    foreign    releases to uninstall, but others installed them, such as a user with Helm
    made       whether a service object created this HelmBundle
    holder     the DaemonSet that holds the images of the cloud;  nodes  all nodes of the cluster
    events     those of namespaces with workloads that may not create their pods
    manifests  release → revision → digest of what Helm installed, where the status lacks it
    """

    settings: Settings
    obj: Object
    records: Mapping[str, Release] = field(default_factory=dict)
    ages: Mapping[str, float] = field(default_factory=dict)
    workloads: Mapping[str, tuple[Object, ...]] = field(default_factory=dict)
    pods: tuple[Object, ...] = ()
    taken: Mapping[Key, Key] = field(default_factory=dict)
    foreign: frozenset[Key] = frozenset()
    made: bool = False
    progress: Mapping[str, Progress] = field(default_factory=dict)
    holder: Object | None = None
    nodes: tuple[Object, ...] = ()
    events: tuple[Object, ...] = ()
    manifests: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def before(self, name: str) -> Object:
        """The status of a release as it was written last; empty if the release was in another namespace then."""
        return self._reported.get(name, {})

    def installed(self, name: str, revision: int) -> str:
        """Digest of what Helm installed as this revision of a release; empty if unknown."""
        return self.all_installed(name).get(str(revision), "")

    def all_installed(self, name: str) -> dict[str, str]:
        """The same of all known revisions; empty digests of those that others installed. The status wins."""
        return {**self.manifests.get(name, {}), **(self.before(name).get("manifests") or {})}

    def is_in_status(self, name: str) -> bool:
        return name in self._reported

    def may_uninstall(self, key: Key) -> bool:
        """Whether a release may be of this HelmBundle, in a namespace that is permitted to it."""
        own = self.obj["metadata"]["namespace"]
        return permitted(self.settings, own, key[0]) and key not in self.taken and key not in self.foreign

    @cached_property
    def _reported(self) -> dict[str, Object]:
        statuses, had = statuses_of(self.obj), recorded_releases(self.obj)
        named = [release_key(self.obj, each) for each in self.obj["spec"]["releases"]]
        return {name: dict(statuses[name]) for namespace, name in named if (namespace, name) in had}

    @cached_property
    def away(self) -> frozenset[str]:
        """Names of unavailable nodes."""
        return nodes.away(self.nodes)

    def unready(self, name: str) -> list[Object]:
        """Workloads of a release that are not as wanted."""
        found = [each for each in self.workloads[name] if not workload_ready(each)]
        return [each for each in found if not is_as_wanted(each, self.pods, self.away)]

    def held(self, name: str) -> bool:
        """Whether a release waits only for unavailable nodes."""
        unready = self.unready(name)
        return bool(unready) and all(is_held(each, self.pods, self.away) for each in unready)


async def observe(
    settings: Settings, ages: Ages, reader: Reader, key: Key, now: float, direct: Reader | None = None
) -> Observed | None:
    """None without the HelmBundle.

    direct  reads without a cache, which has no content of Secrets; None if `reader` has no cache
    """
    obj = await reader.get(HelmBundle.KIND, key)
    if obj is None:
        return None
    taken, made = await _taken(settings, reader, obj), await _made(reader, obj)
    foreign = await _foreign(settings, direct or reader, obj)
    seen = Observed(settings, obj, taken=taken, foreign=foreign, made=made, nodes=tuple(await reader.list(NODE)))
    if label(obj, CLOUD):
        seen = replace(seen, holder=await reader.get(DAEMONSET, (key[0], precache.NAME)))
    wanted: dict[str, list[str]] = {}
    for namespace, name in (release_key(obj, release) for release in obj["spec"]["releases"]):
        wanted.setdefault(namespace, []).append(name)
    for namespace in sorted(wanted):
        seen = await _look(reader, namespace, wanted[namespace], seen)
    return _timed(ages, replace(seen, manifests=await _manifests(direct or reader, seen)))


async def _manifests(reader: Reader, seen: Observed) -> dict[str, dict[str, str]]:
    """Reads each revision once, as soon as it is deployed: what is in the status is not read again.

    A record that was there before the status named the release may be from anybody, and becomes the newest again if a
    user deletes later ones; Helm's own revisions increase. A status of an earlier version has no digests: the ready
    revision is read as well, because an upgrade of the operator upgrades most releases.
    """
    found: dict[str, dict[str, str]] = {}
    own = seen.obj["metadata"]["namespace"]
    for name, record in seen.records.items():
        place, before = record.namespace, seen.before(name)
        if (place, name) in seen.taken or not permitted(seen.settings, own, place):
            continue
        wanted, found[name] = set[int](), {}
        if record.state == "deployed":
            if seen.is_in_status(name) and record.revision >= int(before.get("revision") or 0):
                wanted.add(record.revision)
            else:
                found[name][str(record.revision)] = ""
        if "manifests" not in before and (ready := int(before.get("readyRevision") or 0)):
            wanted.add(ready)
        for revision in sorted(wanted):
            if str(revision) not in seen.all_installed(name):
                secret = await reader.get(SECRET, (place, record_name(name, revision)))
                found[name] |= {str(revision): manifest_digest(secret)} if secret else {}
    return found


def _timed(ages: Ages, seen: Observed) -> Observed:
    """Adds the age of each record's state, and the progress of the pods since then."""
    found, progress = {}, {}
    for name, record in seen.records.items():
        key, before = (record.namespace, record.name), seen.before(name)
        state = (record.revision, record.state, record.digest, record.updated)
        if (before.get("revision"), before.get("digest")) != (record.revision, record.digest):
            before = {}
        recorded = Progress(before.get("reached") or {}, float(before.get("waited") or 0))
        found[name] = ages.of(key, state, recorded.still)
        progress[name] = ages.progress(key, state, counts(seen.workloads[name]), recorded, seen.held(name))
    return replace(seen, ages=found, progress=progress)


async def _taken(settings: Settings, reader: Reader, obj: Object) -> dict[Key, Key]:
    """Releases that another HelmBundle owns → that HelmBundle."""
    mine, me = claims(settings, obj), key_of(obj)
    everybody = await reader.list(HelmBundle.KIND)
    others = [(other, claims(settings, other)) for other in everybody if key_of(other) != me]
    rivals = {key: [other for other, claimed in others if key in claimed] for key in mine}
    taken = {}
    for key in sorted(key for key, found in rivals.items() if found):
        records = releases(await reader.list(SECRET, key[0], SELECTOR))
        if (other := release_owner(key, records.get(key[1]), [obj, *rivals[key]])) != me:
            taken[key] = other
    return taken


async def _foreign(settings: Settings, reader: Reader, obj: Object) -> frozenset[Key]:
    """Releases to uninstall that this HelmBundle did not install.

    Read without a cache, which has only records of the operator, and may be behind Helm. After a failed upgrade, the
    deployed revision decides: it is still the one that runs.
    """
    found = set()
    for key in sorted(releases_to_uninstall(settings, obj)):
        records = revisions(await reader.list(SECRET, key[0], {**SELECTOR, "name": key[1]}))
        deployed = [record for record in records if record.state == "deployed"]
        if records and not installed_by(obj, (deployed or records)[-1]):
            found.add(key)
    return frozenset(found)


async def _made(reader: Reader, obj: Object) -> bool:
    """Whether a service object created this HelmBundle."""
    ref = controller_of(obj)
    declared = BY_KIND.get(str(ref.get("kind")))
    if declared is None or ref.get("apiVersion") != declared.kind.api_version:
        return False
    return has_created(declared, await reader.get(declared.kind, (obj["metadata"]["namespace"], str(ref["name"]))), obj)


async def _look(reader: Reader, namespace: str, names: list[str], seen: Observed) -> Observed:
    """`seen` with the releases of one more namespace."""
    records = releases(await reader.list(SECRET, namespace, SELECTOR))
    workloads: dict[str, tuple[Object, ...]] = dict.fromkeys(names, ())
    for kind in (*WORKLOADS, JOB):
        for found in await reader.list(kind, namespace):
            if (release := label(found, INSTANCE)) in workloads:
                workloads[release] += ({"kind": kind.kind, **found},)
    pods = [pod for pod in await reader.list(POD, namespace) if label(pod, INSTANCE) in workloads]
    refused = any(may_be_refused(each) for found in workloads.values() for each in found)
    events = await reader.list(EVENT, namespace) if refused else []
    return replace(
        seen,
        records={**seen.records, **{name: record for name, record in records.items() if name in workloads}},
        workloads={**seen.workloads, **workloads},
        pods=(*seen.pods, *pods),
        events=(*seen.events, *events),
    )
