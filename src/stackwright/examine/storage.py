"""Checks of StorageClasses. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from stackwright.api.kinds import STORAGE_CLASS
from stackwright.core.findings import Finding
from stackwright.core.objects import annotation
from stackwright.core.plan import Object
from stackwright.examine.demand import Demand
from stackwright.examine.observe import Observed
from stackwright.forecast.impact import DEFAULT_CLASS

SUBJECT = "StorageClass"
_SET = f"`kubectl annotate storageclass NAME {DEFAULT_CLASS}=true`"


def check(seen: Observed, demand: Demand) -> list[Finding]:
    """Checks the StorageClasses that the clouds claim, or the default one."""
    if not seen.knows(STORAGE_CLASS):
        return [Finding(SUBJECT, "note", *seen.unknown(STORAGE_CLASS, "StorageClasses"))]
    classes = {each["metadata"]["name"]: each for each in seen.all(STORAGE_CLASS)}
    defaults = _newest_first(each for each in classes.values() if annotation(each, DEFAULT_CLASS) == "true")
    wanted = demand.classes if demand.clouds else {"": ()}
    found: list[Finding] = []
    used: set[str] = set()
    for name, releases in wanted.items():
        whom = f"{', '.join(releases)}" if releases else "databases and message buses"
        if name and name not in classes:
            text = f"It does not exist; volumes of {whom} need it."
            remedy = f"Create it, or name another one in the manifest of the cloud; there {_are(classes)}."
            found.append(Finding(f"{SUBJECT} {name}", "problem", text, remedy))
        elif not name and not defaults:
            text = f"The cluster has no default; volumes of {whom} need one."
            remedy = f"Set a default with {_SET}, or spec.local_volume_storage_class; there {_are(classes)}."
            found.append(Finding(SUBJECT, "problem", text, remedy))
        else:
            used |= {name} if name else set(defaults[:1])
    if len(defaults) > 1:
        text = f"There are several defaults: {', '.join(sorted(defaults))}; the newest is used, {defaults[0]}."
        remedy = f"Unset the others with `kubectl annotate storageclass NAME {DEFAULT_CLASS}-`."
        found.append(Finding(SUBJECT, "note", text, remedy))
    found += [each for name in sorted(used) for each in _binding(name, classes[name].get("volumeBindingMode"))]
    return found


def _newest_first(classes: Iterable[Object]) -> list[str]:
    """Names in the order in which Kubernetes prefers default StorageClasses: by age, then by name."""
    by_name = sorted(classes, key=lambda each: str(each["metadata"]["name"]))
    by_age = sorted(by_name, key=lambda each: str(each["metadata"].get("creationTimestamp") or ""), reverse=True)
    return [str(each["metadata"]["name"]) for each in by_age]


def _binding(name: str, mode: object) -> list[Finding]:
    subject = f"{SUBJECT} {name}"
    if mode == "WaitForFirstConsumer":
        return [Finding(subject, "ok", "It waits for the pod of a volume.")]
    text = "It creates volumes before their pods are scheduled, perhaps where their pods may not run."
    return [Finding(subject, "note", text, "Use a StorageClass with volumeBindingMode: WaitForFirstConsumer.")]


def _are(classes: object) -> str:
    names = sorted(map(str, classes)) if isinstance(classes, dict) else []
    return f"{'are' if len(names) > 1 else 'is'} {', '.join(names)}" if names else "is none"
