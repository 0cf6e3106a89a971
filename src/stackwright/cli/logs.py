"""`stackwright logs`: what the pods of a service, of the operator, or one pod have written."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli.cluster import NAMESPACE, OPERATOR_NAMESPACE, KubeconfigOption, NamespaceOption

if TYPE_CHECKING:
    from stackwright.adapters.kubernetes_logs import LogReader
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


@dataclass(frozen=True)
class Choice:
    follow: bool
    tail: int | None
    container: str | None = None


def logs(
    what: Annotated[str, typer.Argument(metavar="SERVICE|operator|POD", help="Whose logs.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as more is written.")] = False,
    tail: Annotated[int, typer.Option("--tail", help="Lines from the end of each log; -1 for all.")] = 100,
    container: Annotated[str | None, typer.Option("--container", "-c", help="Only this container.")] = None,
    namespace: NamespaceOption = NAMESPACE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Show the logs of a service, of the operator, or of a pod.

    A service is named as in an OpenStackDeployment (identity), as its program (keystone), or with one of its parts
    (nova-compute). Each line begins with its pod, when there are several.

    For example:

      stackwright logs keystone -f

      stackwright logs nova-compute

      stackwright logs operator --tail 20

      stackwright logs mariadb-server-0 --container mariadb
    """
    from stackwright.cli.cluster import run

    run(_work(what, namespace, Choice(follow, None if tail < 0 else tail, container), kubeconfig))


async def _work(what: str, namespace: str, choice: Choice, given: Path | None) -> None:
    from stackwright.cli.cluster import CliError, connected

    space = OPERATOR_NAMESPACE if what == OPERATOR else namespace
    async with connected(given) as cluster:
        pods = await find_pods(cluster, what, space)
        streams, silent = streams_of(pods, choice.container)
        for cause in silent:
            typer.echo(cause, err=True)
        if not streams:
            if choice.container and not silent:
                raise CliError(f"None of these pods has a container {choice.container}: {containers_of(pods)}")
            raise CliError(f"Nothing of {what} has written a log yet")
        client = _client(given)
        if choice.follow:
            await asyncio.gather(*(_copy(client, stream, choice) for stream in streams))
        else:
            for stream in streams:
                await _copy(client, stream, choice)


def _client(given: Path | None) -> LogReader:
    from stackwright.adapters.kubernetes_logs import LogReader
    from stackwright.cli.cluster import kubeconfig

    return LogReader(kubeconfig(given))


async def find_pods(reader: Reader, what: str, namespace: str) -> list[Object]:
    """Pods by the name of a service, of an application, or of a pod. Raises CliError that lists what there is."""
    from stackwright.api.kinds import POD
    from stackwright.cli.cluster import CliError
    from stackwright.core.objects import label

    every = await reader.list(POD, namespace)
    names = _applications(what)
    found = [pod for pod in every if label(pod, "application") in names or what in (pod["metadata"]["name"], full(pod))]
    if not found:
        known = sorted({name for pod in every if (name := label(pod, "application"))})
        there = f"there are pods of: {', '.join(known)}" if known else "there are none"
        raise CliError(f"There is no pod of {what} in namespace {namespace}; {there}")
    return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


def full(pod: Object) -> str:
    """Application and component in one word, as its workload is called: nova-compute."""
    from stackwright.core.objects import label

    return f"{label(pod, 'application')}-{label(pod, 'component')}"


def _applications(what: str) -> set[str]:
    """The values of the label `application` that a word stands for."""
    from stackwright.services.registry import SERVICES

    if what == OPERATOR:
        return {"stackwright"}
    return {what} | {chart.name for each in SERVICES if what in (each.service, each.name) for chart in each.charts}


def streams_of(pods: list[Object], container: str | None) -> tuple[list[Stream], list[str]]:
    """Logs to read, and why those of other containers cannot be read yet."""
    from stackwright.core.causes import pod_cause

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


async def _copy(client: LogReader, stream: Stream, choice: Choice) -> None:
    from stackwright.adapters.kubernetes_logs import Container
    from stackwright.core.ports import NotYet

    prefix = f"{stream.prefix} | " if stream.prefix else ""
    place = Container(stream.namespace, stream.pod, stream.container)
    try:
        async for line in client.lines(place, follow=choice.follow, tail=choice.tail):
            typer.echo(f"{prefix}{line}")
    except NotYet as error:
        typer.echo(str(error), err=True)
