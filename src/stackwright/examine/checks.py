"""All checks of the observed state. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from stackwright.core.findings import Finding
from stackwright.core.kubernetes.operator import REMEDY
from stackwright.core.kubernetes.operator import unmanaged as why_unmanaged
from stackwright.core.plan import Object
from stackwright.examine import capacity, nodes, rights, rivals, server, storage
from stackwright.examine.demand import Demand
from stackwright.examine.observe import Observed
from stackwright.forecast.simulate import Cause


def check(seen: Observed, demand: Demand) -> list[Finding]:
    return [
        *server.version(seen),
        *server.image_volumes(seen),
        *rights.check(seen.lacking),
        *storage.check(seen, demand),
        *nodes.check(seen, demand),
        *capacity.check(seen, demand),
        *server.dns(seen, demand),
        *server.pod_security(seen, demand),
        *rivals.check(seen, demand),
        *stuck(demand),
    ]


def unmanaged(operator: Object | None, namespaces: Iterable[str]) -> list[Finding]:
    """Namespaces with objects that the installed operator does not manage."""
    found = [(name, why_unmanaged([operator], name)) for name in sorted(set(namespaces))] if operator else []
    return [Finding(f"namespace {name}", "problem", why, REMEDY) for name, why in found if why]


def stuck(demand: Demand) -> list[Finding]:
    """Objects that would not become ready on any cluster, by cause, without those that only wait for others of them."""
    found: dict[Cause, list[str]] = {}
    for name, cause in demand.stuck.items():
        if not any(each.message != cause.message and each.message in cause.message for each in demand.stuck.values()):
            found.setdefault(cause, []).append(name)
    return [Finding(", ".join(names), *_judged(cause)) for cause, names in found.items()]


def _judged(cause: Cause) -> tuple[str, str, str]:
    """Level, text and remedy."""
    if cause.reason == "WaitingForCeph":
        return "note", str(cause), "Continue: the cloud waits for it. docs/howto/use-external-ceph.md has the steps."
    if cause.reason == "BlockedMissingSecret":
        return "problem", str(cause), "Create the Secret before the cloud, or in its manifests."
    return "problem", str(cause), "Correct the manifest; `stackwright plan -f FILE` shows all steps."
