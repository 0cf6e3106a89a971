"""`stackwright logs`: the logs of a service, of the operator, or of one pod."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli import common
from stackwright.cli.cluster import completion
from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, NamespaceOption
from stackwright.cli.state.pods import OPERATOR, Stream, containers_of, find_pods, streams_of
from stackwright.core.settings import OPERATOR_NAMESPACE

if TYPE_CHECKING:
    from stackwright.adapters.kubernetes.client import KubernetesCluster
    from stackwright.adapters.kubernetes.logs import LogReader


LONGEST = 2**31 - 1  # lines of a log


class Lines(StrEnum):
    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True)
class Choice:
    """previous  read the log before the container's last restart. readable  print structured lines as text"""

    follow: bool
    tail: int | None
    since: int | None = None
    previous: bool = False
    container: str | None = None
    readable: bool = False


def age(text: str) -> float:
    return common.duration(text, least=1)


def logs(
    what: Annotated[
        str,
        typer.Argument(
            metavar="SERVICE|operator|POD",
            help="A service, the operator, or a pod.",
            autocompletion=completion.services,
        ),
    ],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print new lines as they are written.")] = False,
    tail: Annotated[
        int,
        typer.Option("--tail", min=-1, max=LONGEST, help="Number of lines from the end of each log; -1 for all."),
    ] = 100,
    container: Annotated[
        str | None, typer.Option("--container", "-c", help="Print only the logs of this container.")
    ] = None,
    since: Annotated[
        float | None,
        typer.Option(
            "--since", metavar="DURATION", parser=age, help="Print only lines younger than this: 90s, 15m, 2h."
        ),
    ] = None,
    previous: Annotated[
        bool, typer.Option("--previous", "-p", help="Print the logs of the containers before their last restart.")
    ] = False,
    output: Annotated[
        Lines | None,
        typer.Option(
            "--output", "-o", help="Print structured lines as text or raw; default: text on a terminal, else raw."
        ),
    ] = None,
    namespace: NamespaceOption = NAMESPACE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Show the logs of a service, of the operator, or of a pod.

    A service is named as in an OpenStackDeployment (identity), as its program (keystone), or with one of its parts
    (nova-compute). With several pods, each line begins with its pod. Exit code 1 if no log could be read.

    For example:

      stackwright logs keystone -f

      stackwright logs nova-compute

      stackwright logs operator --tail 20

      stackwright logs operator --since 10m -o json

      stackwright logs nova-compute --previous

      stackwright logs mariadb-server-0 --container mariadb
    """
    from stackwright.cli.failures import run

    if follow and previous:
        raise typer.BadParameter(
            "--previous and --follow exclude each other: a terminated container writes no more lines",
            param_hint="--previous",
        )
    lines = output or (Lines.TEXT if sys.stdout.isatty() else Lines.JSON)
    choice = Choice(
        follow,
        None if tail < 0 else tail,
        None if since is None else int(since),
        previous,
        container,
        lines is Lines.TEXT,
    )
    run(_work(what, namespace, choice, kubeconfig))


async def _work(what: str, namespace: str, choice: Choice, given: Path | None) -> None:
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.failures import CliError

    space = OPERATOR_NAMESPACE if what == OPERATOR else namespace
    async with connected(given) as cluster:
        pods = await find_pods(cluster, what, space)
        streams, silent = streams_of(pods, choice.container)
        for cause in silent:
            common.echo(cause, err=True)
        if not streams:
            if choice.container and not silent:
                raise CliError(f"No pod of {what} has a container {choice.container}; found: {containers_of(pods)}")
            raise CliError(f"No container of {what} has written a log yet")
        client = _reader(cluster)
        if choice.follow:
            read = await asyncio.gather(*(_copy(client, stream, choice) for stream in streams))
        else:
            read = [await _copy(client, stream, choice) for stream in streams]
        if not any(read):
            raise typer.Exit(1)


def _reader(cluster: KubernetesCluster) -> LogReader:
    from stackwright.adapters.kubernetes.logs import LogReader

    return LogReader(cluster)


async def _copy(client: LogReader, stream: Stream, choice: Choice) -> bool:
    """Prints a log. Returns whether it could be read to its end."""
    from stackwright.adapters.kubernetes.logs import Container, LogRange
    from stackwright.core.errors import TransientError

    prefix = f"{stream.prefix} | " if stream.prefix else ""
    place = Container(stream.namespace, stream.pod, stream.container)
    part = LogRange(choice.tail, choice.since, choice.previous)
    try:
        async for line in client.lines(place, part, follow=choice.follow):
            if choice.readable:
                common.echo(f"{prefix}{readable(line)}")
            else:
                common.data(f"{prefix}{line}")
    except TransientError as error:
        common.echo(str(error), err=True)
        return False
    return True


def readable(line: str) -> str:
    """A structured line as text: time, level, event, the other fields; any other line as it is, with its tabs.

    Control characters are escaped in both.
    """
    from stackwright.api.errors import printable

    try:
        fields = json.loads(line) if line.startswith("{") else None
        if not isinstance(fields, dict) or "event" not in fields:
            return common.safe(line)
        time, level, event = (str(fields.pop(name, "")) for name in ("timestamp", "level", "event"))
        trace = str(fields.pop("exception", ""))
        details = "  ".join(f"{name}={value}" for name, value in fields.items())
    except (ValueError, RecursionError):
        return common.safe(line)
    first = "  ".join(part for part in (time[:19].replace("T", " "), f"{level:<7}", event, details) if part.strip())
    return "\n".join(printable(each) for each in (first, *(f"    {each}" for each in trace.splitlines())))
