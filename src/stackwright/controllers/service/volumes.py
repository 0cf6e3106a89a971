"""Enlarges volumes that are smaller than the values request, or reports why they cannot grow. Pure.

Kubernetes rejects changes to the claim templates of a StatefulSet, so the templates stay, and each claim is enlarged
separately. A volume never shrinks. None of this affects Ready: the service runs on its present volume.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stackwright.controllers.service.observe import Observed
from stackwright.core.conditions import Condition, done, waiting
from stackwright.core.kubernetes.quantity import amount
from stackwright.core.objects import is_deleting, label
from stackwright.core.plan import GrowClaim, Object

TYPE = "Volumes"


def grown(seen: Observed, bundle: Object | None) -> tuple[list[GrowClaim], tuple[Condition, ...]]:
    """Actions that enlarge claims, and the condition; no condition for a service without claims."""
    actions: list[GrowClaim] = []
    fixed: list[str] = []
    growing: list[str] = []
    wanted = _wanted(seen, bundle)
    claims = [claim for claim in seen.claims if _place(claim) in wanted and not is_deleting(claim)]
    for claim in sorted(claims, key=lambda each: str(each["metadata"]["name"])):
        size, has = wanted[_place(claim)], str(claim["spec"]["resources"]["requests"]["storage"])
        name = f"PersistentVolumeClaim {claim['metadata']['name']}"
        bound = (claim.get("status") or {}).get("phase") == "Bound"
        if amount(size) < amount(has):
            fixed.append(f"{name} keeps its size {has} instead of {size}: a volume cannot shrink")
        elif amount(size) == amount(has):
            growing += _under_way(claim, name, has) if bound else []
        elif not bound:
            growing.append(f"{name} will be resized to {size} once it has a volume")
        elif not _expandable(seen, claim):
            cause = f"StorageClass {claim['spec'].get('storageClassName')} forbids it (allowVolumeExpansion)"
            fixed.append(f"{name} cannot be resized from {has} to {size}: {cause}")
        else:
            actions.append(GrowClaim(claim, size))
            growing.append(f"Resizing {name} from {has} to {size}")
    if fixed:
        return actions, (waiting(TYPE, "; ".join([*fixed, *growing]), "SizeFixed"),)
    if growing:
        return actions, (waiting(TYPE, "; ".join(growing), "Growing"),)
    return actions, (done(TYPE),) if claims else ()


def _wanted(seen: Observed, bundle: Object | None) -> dict[tuple[str, str], str]:
    """(application, component) of a claim → the size in the values."""
    components = {chart.name: chart.claims for chart in seen.declared.charts}
    found: dict[tuple[str, str], str] = {}
    for release in (bundle or {"spec": {"releases": ()}})["spec"]["releases"]:
        values = release["values"]
        volume = values.get("volume")
        size = str(volume.get("size") or "") if isinstance(volume, Mapping) else ""
        if _is_quantity(size):
            application = str(values.get("name") or release["chart"])
            found |= {(application, component): size for component in components[release["chart"]]}
    return found


def _is_quantity(text: str) -> bool:
    try:
        return amount(text) > 0
    except ValueError:
        return False  # the chart's schema reports it


def _place(claim: Object) -> tuple[str, str]:
    return label(claim, "application"), label(claim, "component")


def _under_way(claim: Object, name: str, size: str) -> Iterable[str]:
    status = claim["status"]
    has = str((status.get("capacity") or {}).get("storage") or size)
    if amount(has) >= amount(size):
        return ()
    pending = any(entry.get("type") == "FileSystemResizePending" for entry in status.get("conditions") or ())
    return (f"Resizing {name} from {has} to {size}{', which ends when its pod restarts' if pending else ''}",)


def _expandable(seen: Observed, claim: Object) -> bool:
    name = claim["spec"].get("storageClassName")
    return any(each["metadata"]["name"] == name and each.get("allowVolumeExpansion") for each in seen.classes)
