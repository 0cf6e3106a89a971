"""Finds the pods of a service, of the operator or by name, and the logs of their containers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackwright.core.plan import Object
    from stackwright.core.ports import Reader

OPERATOR = "operator"


@dataclass(frozen=True)
class Stream:
    """One container's log."""

    namespace: str
    pod: str
    container: str
    prefix: str


async def find_pods(reader: Reader, what: str, namespace: str) -> list[Object]:
    """Pods by the name of a service, of an application, or of a pod. Raises CliError with the valid names."""
    from stackwright.api.kinds import POD
    from stackwright.api.wording import did_you_mean
    from stackwright.cli.failures import CliError
    from stackwright.core.objects import label

    every = await reader.list(POD, namespace)
    names = applications(what)
    found = [pod for pod in every if label(pod, "application") in names or what in (pod["metadata"]["name"], full(pod))]
    if not found:
        known = sorted({name for pod in every if (name := label(pod, "application"))})
        parts = [full(pod) for pod in every]
        there = f"{did_you_mean([*known, *parts], what)}found pods of: {', '.join(known) or 'none'}"
        raise CliError(f"No pod of {what} found in namespace {namespace}; {there}")
    return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


def full(pod: Object) -> str:
    """Application and component in one word, like the name of its workload: nova-compute. Empty without labels."""
    from stackwright.core.objects import label

    return "-".join(filter(None, (label(pod, "application"), label(pod, "component"))))


def applications(what: str) -> set[str]:
    """The values of the label `application` that a word selects."""
    from stackwright.services.registry import SERVICES

    if what == OPERATOR:
        return {"stackwright"}
    return {what} | {chart.name for each in SERVICES if what in (each.service, each.name) for chart in each.charts}


def streams_of(pods: list[Object], container: str | None) -> tuple[list[Stream], list[str]]:
    """Logs to read, and the reasons why other containers have none yet."""
    from stackwright.core.kubernetes.workload_health import pod_cause

    found: list[Stream] = []
    silent = []
    for pod in pods:
        meta, status = pod["metadata"], pod.get("status") or {}
        states = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
        wanted = [each for each in states if container in (None, each["name"])]
        begun = [each for each in wanted if _begun(each)]
        for each in begun:
            prefix = meta["name"] if len(begun) == 1 else f"{meta['name']}/{each['name']}"
            found.append(Stream(meta["namespace"], meta["name"], each["name"], prefix))
        if not begun and (wanted or not states):
            silent.append(pod_cause(pod) or f"Pod {meta['name']} has not started yet")
    if len(found) == 1:
        found = [Stream(found[0].namespace, found[0].pod, found[0].container, "")]
    return found, silent


def _begun(container: Object) -> bool:
    state, last = container.get("state") or {}, container.get("lastState") or {}
    return "running" in state or "terminated" in state or "terminated" in last


def containers_of(pods: list[Object]) -> str:
    names = {each["name"] for pod in pods for each in (pod.get("status") or {}).get("containerStatuses") or ()}
    return f"they have {', '.join(sorted(names))}" if names else "none has started"
