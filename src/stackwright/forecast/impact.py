"""The cost of a plan: lost or kept data, restarted pods, interrupted services, missing StorageClasses. Pure.

It is derived from the steps of a forecast and from the objects in the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from stackwright.api.kinds import STATEFULSET, WORKLOADS
from stackwright.api.meta import Kind
from stackwright.api.services.contracts import DatabaseAccount
from stackwright.core.helm.rollouts import node_of
from stackwright.core.objects import annotation, key_of, label
from stackwright.core.plan import Apply, Delete, EnsureAccount, HelmUninstall, HelmUpgrade, Key, Object
from stackwright.forecast.simulate import Step
from stackwright.services.declaration import Service
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.registry import SERVICES

INSTANCE = "app.kubernetes.io/instance"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
# The defaults of Kubernetes for a Deployment.
SURGE = UNAVAILABLE = "25%"
MUST = "requiredDuringSchedulingIgnoredDuringExecution"


_KINDS = tuple(kind.kind for kind in WORKLOADS)
_CHARTS = tuple(chart for declared in SERVICES for chart in declared.charts)
_UNFINISHED = {(chart.name, component): text for chart in _CHARTS for component, text in chart.replaced.items()}


@dataclass(frozen=True)
class Facts:
    """Objects in the cluster that the forecast does not contain.

    claims, stateful, databases, pods  PersistentVolumeClaims, StatefulSets, DatabaseAccounts and pods of the namespace
    volumes, classes                   PersistentVolumes and StorageClasses; None without permission to read them
    """

    claims: Sequence[Object] = ()
    stateful: Sequence[Object] = ()
    databases: Sequence[Object] = ()
    pods: Sequence[Object] = ()
    volumes: Sequence[Object] | None = None
    classes: Sequence[Object] | None = None


@dataclass(frozen=True)
class Restart:
    """pods       their number, as text
    meanwhile  the effect on the service during the restart, as text
    away       whether the service is interrupted
    """

    kind: str
    name: str
    pods: str
    meanwhile: str
    away: bool = False

    @property
    def workload(self) -> str:
        return f"{self.kind} {self.name}"


def lost(steps: Iterable[Step], facts: Facts) -> tuple[str, ...]:
    """The data that users lose, each item once, in the order of the steps."""
    return tuple(dict.fromkeys(text for step in steps for text in _lost(step, facts)))


def kept(steps: Iterable[Step], facts: Facts) -> tuple[str, ...]:
    """The databases that remain in their MariaDB although their accounts are deleted."""
    gone = {_gone(step) for step in steps if not step.error}
    return tuple(
        text
        for account in facts.databases
        if (DatabaseAccount.KIND, key_of(account)) in gone and (MariaDB.KIND, _provider(account)) not in gone
        if not account["spec"].get("dropDatabase")
        for text in _databases(account)
    )


def _lost(step: Step, facts: Facts) -> Iterator[str]:
    action = step.action
    if step.error:
        return
    if isinstance(action, Apply) and step.before is not None:
        yield from _backends(step.before, action.obj)
    elif isinstance(action, EnsureAccount):
        yield from action.lost_data
    elif isinstance(action, HelmUninstall) or (isinstance(action, HelmUpgrade) and _without_claims(action.values)):
        yield from _claims(action.release, facts)
    kind, key = _gone(step) or (None, ("", ""))
    if kind == MariaDB.KIND:
        yield from (text for account in facts.databases if _provider(account) == key for text in _databases(account))
    for declared in SERVICES:
        if declared.kind == kind and declared.lost_with_object:
            yield declared.lost_with_object.format(f"{kind.kind} {'/'.join(key)}")


def _without_claims(values: Mapping[str, Any]) -> bool:
    """Whether the values disable a claim, which Helm then deletes if the release has it."""
    manifests = values.get("manifests")
    return isinstance(manifests, Mapping) and any(
        name.startswith("pvc_") and not enabled for name, enabled in manifests.items()
    )


def _gone(step: Step) -> tuple[Kind, Key] | None:
    return (step.action.kind, step.action.key) if isinstance(step.action, Delete) else step.removed


def _provider(account: Object) -> Key:
    """The MariaDB of a DatabaseAccount."""
    return account["metadata"].get("namespace", ""), account["spec"].get("instance", "")


def _databases(account: Object) -> Iterator[str]:
    names = (account["spec"].get("database"), *(account["spec"].get("additionalDatabases") or ()))
    yield from (f"database {name} of MariaDB {'/'.join(_provider(account))}" for name in names)


def _backends(before: Object, after: Object) -> Iterator[str]:
    """Back ends with users' data that a service would no longer have."""
    declared = next((each for each in SERVICES if each.kind.kind == after.get("kind", before.get("kind"))), None)
    old, new = (_settings(declared, obj) for obj in (before, after))
    if declared is None or old is None or new is None:
        return
    name = f"{declared.kind.kind} {'/'.join(key_of(before))}"
    if declared.driver and (was := declared.driver(old)) != (will := declared.driver(new)):
        yield f"back end {was} of {name}, replaced by {will}: running servers lose access to its data"
    if (place := declared.outside(old)) and place != declared.outside(new):
        yield f"access to the data of {name} in {place}"
    if declared.backends:  # a back end with data is removed only if the spec permits it
        used = (before.get("status") or {}).get("backends") or declared.backends(old)
        gone = {*used, *declared.backends(old)} & set((after.get("spec") or {}).get("orphan") or ())
        kept = declared.backends(new)
        yield from (f"back end {each} of {name}, with all its data" for each in sorted(gone) if each not in kept)


def _settings(declared: Service | None, obj: Object) -> Any:
    if declared is None:
        return None
    try:
        return declared.settings.model_validate((obj.get("spec") or {}).get("settings") or {})
    except ValidationError:  # settings of an older version, or invalid ones
        return None


def _claims(release: Key, facts: Facts) -> Iterator[str]:
    """Claims that are deleted with a release and whose volumes are not retained."""
    sets = [each for each in facts.stateful if label(each, INSTANCE) == release[1]]
    patterns = [re.compile(pattern) for each in sets for pattern in _patterns(each)]
    for claim in facts.claims:
        name = claim["metadata"]["name"]
        if label(claim, INSTANCE) != release[1] and not any(pattern.fullmatch(name) for pattern in patterns):
            continue
        size = (((claim.get("status") or {}).get("capacity")) or {}).get("storage")
        size = size or (((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}).get("storage") or ""
        volume = (claim.get("spec") or {}).get("volumeName")
        if not _retained(volume, facts):
            what = f" with volume {volume}" if volume else ""
            yield f"claim {'/'.join(key_of(claim))}{what}{f' ({size})' if size else ''}"


def _patterns(stateful: Object) -> Iterator[str]:
    """Names of the claims that Kubernetes deletes with a StatefulSet."""
    spec = stateful.get("spec") or {}
    if (spec.get("persistentVolumeClaimRetentionPolicy") or {}).get("whenDeleted") == "Delete":
        name = re.escape(stateful["metadata"]["name"])
        yield from (
            rf"{re.escape(each['metadata']['name'])}-{name}-\d+" for each in spec.get("volumeClaimTemplates") or ()
        )


def _retained(volume: str | None, facts: Facts) -> bool:
    found = next((each for each in facts.volumes or () if each["metadata"]["name"] == volume), None)
    return bool(found and (found.get("spec") or {}).get("persistentVolumeReclaimPolicy") == "Retain")


def missing(steps: Iterable[Step], there: Iterable[Key], facts: Facts) -> dict[str, list[str]]:
    """StorageClass → the new releases whose claims need this missing class; "" is the default one. `there` lists the
    releases that are not new.
    """
    if facts.classes is None:
        return {}
    names = {each["metadata"]["name"] for each in facts.classes}
    default = any(annotation(each, DEFAULT_CLASS) == "true" for each in facts.classes)
    wanted = claimed(steps, there).items()
    return {name: releases for name, releases in wanted if (name not in names if name else not default)}


def claimed(steps: Iterable[Step], there: Iterable[Key]) -> dict[str, list[str]]:
    """StorageClass → the new releases that claim volumes of it, as in `missing`."""
    known = set(there)
    wanted: dict[str, list[str]] = {}
    for step in steps:
        action = step.action
        if not isinstance(action, HelmUpgrade) or action.release in known or step.error:
            continue
        known.add(action.release)
        volume = action.values.get("volume")
        if isinstance(volume, Mapping) and volume.get("store") != "":  # Glance without a file store claims no volume
            wanted.setdefault(str(volume.get("class_name") or ""), []).append("/".join(action.release))
    return wanted


def restarts(
    before: Sequence[Object] | None, after: Sequence[Object], pods: Sequence[Object] = ()
) -> tuple[Restart, ...]:
    """Workloads whose pods an upgrade from one set of manifests to another replaces.

    before  None if unknown: then all pods may restart
    pods    pods of the namespace
    """
    had = None if before is None else _templates(before)
    found = []
    for name, (obj, template) in (_templates(after) or {}).items():
        if had is None or (name in had and had[name][1] != template):
            restart = _restart(obj)
            noticed = _UNFINISHED.get((label(obj, "application"), label(obj, "component")))
            meanwhile = "; ".join(filter(None, (restart.meanwhile, noticed)))
            found.append(replace(restart, meanwhile=_together(obj, pods) or meanwhile))
    return tuple(found)


def _together(workload: Object, pods: Iterable[Object]) -> str:
    """Pods with volumes of their own that share a node although their manifest forbids it."""
    spec = workload["spec"]
    anti = ((spec["template"].get("spec") or {}).get("affinity") or {}).get("podAntiAffinity") or {}
    for term in anti.get(MUST) or () if spec.get("volumeClaimTemplates") else ():
        wanted = (term.get("labelSelector") or {}).get("matchLabels") or {}
        if "component" not in wanted:
            continue
        nodes: dict[str, list[str]] = {}
        for pod in pods:
            if node_of(pod) and wanted.items() <= (pod["metadata"].get("labels") or {}).items():
                nodes.setdefault(node_of(pod), []).append(pod["metadata"]["name"])
        shared = [f"{' and '.join(sorted(names))} share node {node}" for node, names in nodes.items() if names[1:]]
        if shared:
            return (
                f"{', '.join(shared)}, which is not allowed any more: with local volumes all but one stay Pending, "
                f"unless pod.affinity.anti.type.{wanted['component']} of the chart allows it"
            )
    return ""


def _templates(objects: Iterable[Object]) -> dict[str, tuple[Object, Object]] | None:
    """Workloads by kind and name, with the template of their pods; None if a workload has no template."""
    try:
        return {_name(each): (each, {**each["spec"]["template"]}) for each in objects if each.get("kind") in _KINDS}
    except (KeyError, TypeError):
        return None


def _name(obj: Object) -> str:
    return f"{obj['kind']} {obj['metadata']['name']}"


def _restart(obj: Object) -> Restart:
    kind, name, spec = str(obj["kind"]), str(obj["metadata"]["name"]), obj["spec"]
    replicas = 1 if spec.get("replicas") is None else int(spec["replicas"])
    pods = f"{replicas} pod{'' if replicas == 1 else 's'}"
    strategy = spec.get("strategy" if kind == "Deployment" else "updateStrategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    if strategy.get("type") == "OnDelete":
        return Restart(kind, name, pods, "each is replaced when it is deleted")
    if kind == "DaemonSet":
        if _count(rolling.get("maxSurge", 0), 1, up=True):
            return Restart(kind, name, "one pod on each node", "new pods start before old ones end")
        return Restart(kind, name, "one pod on each node", "interrupted on each node in turn", away=True)
    if strategy.get("type") == "Recreate":
        return Restart(kind, name, pods, "the service is interrupted", away=True)
    if kind == STATEFULSET.kind:
        last = replicas <= 1
    else:
        surge = _count(rolling.get("maxSurge", SURGE), replicas, up=True)
        away = _count(rolling.get("maxUnavailable", UNAVAILABLE), replicas, up=False)
        last = away >= replicas > 0
        if surge and not last:
            return Restart(kind, name, pods, "new pods start before old ones end")
    if last:
        return Restart(kind, name, pods, "the service is interrupted", away=True)
    return Restart(kind, name, pods, "the other pods serve requests")


def _count(value: object, of: int, *, up: bool) -> int:
    """A number of pods, or a percentage of `of`, rounded as Kubernetes does."""
    text = str(value)
    if not text.endswith("%"):
        return int(text)
    hundredths = int(text[:-1]) * of
    return -(-hundredths // 100) if up else hundredths // 100
