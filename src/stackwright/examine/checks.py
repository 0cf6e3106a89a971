"""All checks of the observed state. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from stackwright.core.findings import Finding
from stackwright.core.kubernetes.operator import REMEDY
from stackwright.core.kubernetes.operator import unmanaged as why_unmanaged
from stackwright.core.plan import Object
from stackwright.examine import capacity, nodes, rights, rivals, server, storage
from stackwright.examine.demand import Demand
from stackwright.examine.observe import ADMINISTRATOR, Observed
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
    """Objects that would not become ready on any cluster, by cause, without objects that only wait for these."""
    found: dict[str, list[str]] = {}
    for name, cause in demand.stuck.items():
        if not _only_waits(name, cause, demand):
            found.setdefault(str(cause), []).append(name)
    findings = [
        Finding(", ".join(names), *_judged(demand.stuck[names[0]], bool(demand.hidden))) for names in found.values()
    ]
    if findings and demand.hidden:
        (namespace, name), why = next(iter(demand.hidden.items()))
        text = f"Secrets that cannot be read count as missing, such as {namespace}/{name}: {why}."
        findings.append(Finding("Secrets", "note", text, ADMINISTRATOR))
    return findings


def _only_waits(name: str, cause: Cause, demand: Demand) -> bool:
    """Whether an object waits for one of the others, or is a cloud whose Ready repeats that of one."""
    if cause.wait is not None:
        return cause.wait.objects in demand.stuck
    clouds = {f"{kind} {'/'.join(key)}" for key, kind in demand.clouds.items()}
    reasons = {each.reason for other, each in demand.stuck.items() if other not in clouds}
    return name in clouds and cause.reason in reasons


def _judged(cause: Cause, is_hidden: bool) -> tuple[str, str, str]:
    """Level, text and remedy. A Secret is only known to be missing if all can be read."""
    if cause.reason == "WaitingForCeph":
        steps = "Apply the cloud, then create pools and keys: docs/howto/use-external-ceph.md has the steps."
        return "note", str(cause), steps
    if cause.reason == "BlockedMissingSecret":
        level = "note" if is_hidden else "problem"
        return level, str(cause), "Create the Secret before you apply the cloud, or add it to the manifests."
    return "problem", str(cause), "Correct the manifest; `stackwright plan -f FILE` shows all steps."
