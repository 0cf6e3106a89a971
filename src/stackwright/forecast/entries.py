"""Converts the steps of a forecast to the entries of `stackwright plan`: signs, texts, reasons, value diffs. Pure.

A release's values are compared with the deployed ones. Each change names the highest level of overrides that sets the
path; the service object stores the levels separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stackwright.api.kinds import SECRET
from stackwright.cloud.registry import BY_KIND, CLOUD_KINDS
from stackwright.cloud.support import Untested
from stackwright.core.diff import ABSENT, Change, Path, changes
from stackwright.core.objects import EDITED, key_of
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.plan import Apply, Delete, Finalizer, HelmUninstall, HelmUpgrade, Key, Object, SetStatus
from stackwright.core.secrets.writes import (
    CephAccess,
    EnsureCertificate,
    EnsureSecret,
    ExtractSecret,
    GatherSecret,
    KeepRevision,
    RotateKeys,
    SecretWrite,
)
from stackwright.forecast.background import Background, Deployed
from stackwright.forecast.impact import Restart
from stackwright.forecast.simulate import Step
from stackwright.services.ingress.features import referenced

CREATE, CHANGE, DELETE, CALL, WAIT, FAIL, NOTE = "create", "change", "delete", "call", "wait", "fail", "note"
SIGNS = {CREATE: "+", CHANGE: "~", DELETE: "-", CALL: "»", WAIT: "…", FAIL: "✗", NOTE: "!"}
BUILT = ""
RELEASE = "HelmRelease"  # the kind of the subject for a release, which is not an object


class Topic(StrEnum):
    """What a note is about; the verb of its entry."""

    LOST = "lost"
    KEPT = "kept"
    RESTART = "restart"
    MISSING = "missing"
    UNREACHABLE = "ask"
    UNTESTED = "untested"
    PLAINTEXT = "plaintext"


class Failure(StrEnum):
    """What would fail: a step of the operator, or the rendering of a chart for `plan`; the verb of the entry."""

    STEP = "fail"
    RENDERING = "helm"


@dataclass(frozen=True)
class ChangedValue:
    """A change of a value, with its level of overrides, or BUILT if the value follows from the spec."""

    change: Change
    source: str = BUILT


@dataclass(frozen=True)
class Entry:
    """verb           apply, helm, sql, …; a Topic of a note, a Failure of a failure
    resource_type  of a resource in an OpenStack: server, volume, …; empty for others
    subject        kind, namespace and name of the object or release; empty if the entry has none
    """

    does: str
    verb: str
    what: str
    why: str = ""
    changes: tuple[ChangedValue, ...] = ()
    note: str = ""
    resource_type: str = ""
    subject: tuple[str, str, str] = ("", "", "")

    def as_dict(self) -> dict[str, Any]:
        kind, namespace, name = self.subject
        shown: dict[str, Any] = {"does": self.does, "verb": str(self.verb), "what": self.what}
        shown |= {"kind": kind, "namespace": namespace, "name": name}
        shown |= {name: text for name, text in (("why", self.why), ("note", self.note)) if text}
        if self.changes:
            shown["changes"] = [
                {**each.change.as_dict(), **({"source": each.source} if each.source else {})} for each in self.changes
            ]
        return shown


CUT_OFF = Entry(FAIL, Failure.STEP, "The controllers did not reach a stable state; the plan is incomplete from here")


def entries(steps: Iterable[Step], background: Background) -> list[Entry]:
    """The entries, in the order of the operator."""
    steps = list(steps)
    deleted = {(step.action.kind, step.action.key) for step in steps if isinstance(step.action, Delete)}
    passing = {key for step in steps if step.removed for key in [step.removed]} | {
        (step.action.kind, key_of(step.action.obj)) for step in steps if isinstance(step.action, Apply)
    }
    found: list[Entry] = []
    for step in steps:
        if step.removed:
            if step.removed not in deleted:
                kind, key = step.removed
                asked = step.about == "you" and BY_KIND.get(kind.kind) in CLOUD_KINDS
                why = "requested" if asked else "its owner is deleted"
                found.append(Entry(DELETE, "delete", f"{kind.kind} {'/'.join(key)}", why, subject=(kind.kind, *key)))
        elif step.wait:
            found.append(Entry(WAIT, "wait", f"{step.about} waits for {step.wait}"))
        elif step.error:
            found.append(Entry(FAIL, Failure.STEP, f"{step.about}: {step.action}", step.error))
        elif isinstance(step.action, Finalizer) and (step.action.kind, key_of(step.action.obj)) in passing:
            continue  # added and removed with its object
        else:
            found.append(_entry(step, background))
    return found


def _entry(step: Step, background: Background) -> Entry:
    action = step.action
    match action:
        case Apply():
            return _apply(step, action)
        case Delete():
            return Entry(DELETE, "delete", action.target, action.why, subject=(action.kind.kind, *action.key))
        case CloudCall():
            does = {"create": CREATE, "update": CHANGE, "delete": DELETE}[action.do]
            what = f"{action.resource} in {action.cloud}"
            return Entry(
                does, action.verb, what, action.why or f"for {step.about}", resource_type=action.resource_key[0]
            )
        case HelmUpgrade():
            return _upgrade(action, background)
        case HelmUninstall():
            what, subject = f"release {action.target}", (RELEASE, *action.release)
            return Entry(DELETE, "helm", what, f"for {step.about}", subject=subject)
        case SetStatus():
            return Entry(CHANGE, action.verb, f"status of {action.target}", f"for {step.about}")
        case _ if isinstance(action, SecretWrite):
            return _secret(step, action, background)
        case _:
            assert action is not None
            return Entry(CALL, action.verb, f"{action.verb}: {action.target}", f"for {step.about}")


def _apply(step: Step, action: Apply) -> Entry:
    why, subject = f"for {step.about}" if step.about != "you" else "", (action.kind.kind, *key_of(action.obj))
    if step.before is None:
        return Entry(CREATE, "apply", action.target, why, subject=subject)
    if action.why == EDITED:
        why = "another client edited it; the operator reverts the edit"
    differ: tuple[ChangedValue, ...] = ()
    # The values of a HelmBundle are shown at its releases; specs of kinds of other systems are not printed.
    if action.kind.kind in BY_KIND and action.kind.kind != "HelmBundle":
        old, new = _readable(step.before.get("spec") or {}), _readable(action.obj.get("spec") or {})
        differ = tuple(ChangedValue(change) for change in changes(old, new, ("spec",)))
    if step.about != "you":  # defaults, which the API server adds later
        differ = tuple(each for each in differ if each.change.new is not ABSENT)
    return Entry(CHANGE, "apply", action.target, why, differ, subject=subject)


def _readable(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec without a cloud's certificates, and with a service's overrides as a mapping, so that a diff names the
    level and not its index.
    """
    levels = spec.get("overrides")
    if not isinstance(levels, list):
        return referenced(spec)
    return {**spec, "overrides": {str(level["source"]): level.get("values") or {} for level in levels}}


def _upgrade(action: HelmUpgrade, background: Background) -> Entry:
    deployed = background.releases.get(action.release)
    old = deployed.values if deployed else ABSENT
    before, after = background.services.get(key_of(action.owner), ((), ()))
    differ = tuple(
        ChangedValue(change, source_of(change.path, action.chart, before, after))
        for change in changes(old, action.values)
    )
    background.releases[action.release] = Deployed(action.chart, action.values)
    what = f"release {action.target}, chart {action.chart} {action.version}".rstrip()
    subject = (RELEASE, *action.release)
    failure = background.failures.pop(action.release, "")
    notes = [f"the last attempt failed: {failure}"] if failure else []
    if deployed is None:
        return Entry(CREATE, "helm", what, changes=differ, note="; ".join(notes), subject=subject)
    if not deployed.known:
        notes.append("the deployed values are not known; compared with the values of the HelmBundle")
    if not differ and deployed.known:
        notes.append("same values, other chart: the chart's files differ from the deployed ones")
    return Entry(CHANGE, "helm", what, changes=differ, note="; ".join(notes), subject=subject)


def source_of(path: Path, chart: str, before: Sequence[Object], after: Sequence[Object]) -> str:
    """The level of overrides that sets a value, or that set it before."""
    for level in reversed(after):
        if _touches((level.get("values") or {}).get(chart), path):
            return str(level["source"])
    for level in reversed(before):
        if _touches((level.get("values") or {}).get(chart), path):
            return f"no longer in {level['source']}"
    return BUILT


def _touches(node: Any, path: Path) -> bool:
    if node is None:
        return False
    for part in path:
        if not isinstance(node, Mapping):
            return True  # the override replaces a parent of the path
        if part not in node:
            return False
        node = node[part]
    return True


def _secret(step: Step, action: SecretWrite, background: Background) -> Entry:
    exists = action.key in background.secrets
    background.secrets.add(action.key)
    if isinstance(action, EnsureSecret):
        made = ", ".join((*action.generated, *(f"key pair {name}" for name in action.keypairs)))
        made = "generated values are kept" if exists and made else f"{made} generated" if made else ""
    elif isinstance(action, RotateKeys):
        made = "the next rotation of its keys" if exists else "keys generated"
    elif isinstance(action, EnsureCertificate):
        made = f"issued for {', '.join((*action.names, *action.addresses))}"
    elif isinstance(action, GatherSecret):
        made = f"from Secret {', '.join(sorted({name for name, _ in action.fields.values()}))}"
    elif isinstance(action, ExtractSecret):
        made = f"from {', '.join(action.paths)}"
    elif isinstance(action, KeepRevision):
        made = f"the spec of {action.target}"
    elif isinstance(action, CephAccess):
        made = f"key, monitors and pools from Secret {'/'.join(action.source)}"
    else:
        names = sorted({name for options in action.sections.values() for name, _ in options.values()})
        made = f"sensitive options from Secret {', '.join(names)}"
    what, subject = f"{SECRET.kind} {'/'.join(action.key)}", (SECRET.kind, *action.key)
    return Entry(CHANGE if exists else CREATE, "secret", what, f"for {step.about}", note=made, subject=subject)


def notes(
    data: Mapping[Topic, Iterable[str]], restarts: Mapping[Key, Iterable[Restart]], missing: Mapping[str, Sequence[str]]
) -> list[Entry]:
    """The cost of a plan, as entries that follow its steps; `data` is the lost and the kept data."""
    found = [Entry(NOTE, topic, what) for topic, texts in data.items() for what in texts]
    found += [
        Entry(NOTE, Topic.RESTART, each.workload, f"{each.pods}; {each.meanwhile}", subject=(each.kind, "", each.name))
        for release in restarts
        for each in restarts[release]
    ]
    for name, releases in missing.items():
        what = f"StorageClass {name}" if name else "a default StorageClass"
        subject = ("StorageClass", "", name) if name else ("", "", "")
        found.append(Entry(NOTE, Topic.MISSING, f"{what}, for claims of {', '.join(releases)}", subject=subject))
    return found


def unproven(values: Iterable[Untested]) -> list[Entry]:
    """Values of a cloud's features that no test uses in a real cloud."""
    found = {
        f"{path}: {str(value).lower() if isinstance(value, bool) else value}": problem
        for path, value, problem in values
    }
    return [Entry(NOTE, Topic.UNTESTED, what, problem) for what, problem in found.items()]


def exposed(paths: Iterable[str]) -> list[Entry]:
    """Fields of manifests that contain secrets as plain text."""
    remedy = "everybody who may read the object can read it; options of a service accept value_from.secret_key_ref"
    return [Entry(NOTE, Topic.PLAINTEXT, path, remedy) for path in dict.fromkeys(paths)]


def summary(found: Iterable[Entry]) -> str:
    """`Plan: 3 objects to create, …`, or an empty string without steps."""
    count = Counter((entry.does, entry.subject[0] == RELEASE) for entry in found if entry.does not in (WAIT, NOTE))
    words = [
        (count[CREATE, False], "to create", "to create"),
        (count[CHANGE, False], "to change", "to change"),
        (count[DELETE, False], "to delete", "to delete"),
        (count[CREATE, True], "Helm release to install", "Helm releases to install"),
        (count[CHANGE, True], "Helm release to upgrade", "Helm releases to upgrade"),
        (count[DELETE, True], "Helm release to uninstall", "Helm releases to uninstall"),
        (count[CALL, False], "call to a service", "calls to services"),
        (count[FAIL, False], "that would fail", "that would fail"),
    ]
    counts = ", ".join(f"{number} {one if number == 1 else many}" for number, one, many in words if number)
    return f"Plan: {counts}." if counts else ""
