"""`stackwright status`: clouds down to their pods, each with its state and the cause."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stackwright.cli import common
from stackwright.cli.cluster import completion
from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, NamespaceOption
from stackwright.cli.ui.output import Format, FormatOption
from stackwright.core.settings import OPERATOR_NAMESPACE

if TYPE_CHECKING:
    from stackwright.adapters.kubernetes.client import KubernetesCluster
    from stackwright.adapters.openstack.deployed.public_api import Live
    from stackwright.cli.ui.tree import Node
    from stackwright.core.plan import Object

EVERY = 2.0


@dataclass(frozen=True)
class Question:
    """The arguments of the command line."""

    name: str | None
    namespace: str
    kubeconfig: Path | None
    everything: bool = False


def status(
    name: Annotated[str | None, typer.Argument(help="A cloud; default: all.", autocompletion=completion.clouds)] = None,
    namespace: NamespaceOption = NAMESPACE,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Show what is below ready objects, too.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Update the output as the state changes; Ctrl-C ends.")
    ] = False,
    output: FormatOption = Format.TABLE,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Show the state of the clouds, from the cloud down to its pods, and of the local cluster.

    For a cloud with public endpoints it shows their response times, agents and compute services.

    ✓ ready, … in progress, ✗ blocked until a user acts, as the text says. The time is since the last change of state.
    Objects below a ready service are folded; JSON and YAML always contain all (docs/reference/output.md).

    For example:

      stackwright status

      stackwright status --all

      stackwright status --watch

      stackwright status -o json
    """
    from stackwright.cli.failures import run
    from stackwright.cli.ui.output import show

    question = Question(name, namespace, kubeconfig, everything)
    if watch and output is not Format.TABLE:
        raise typer.BadParameter("--watch prints a table; it cannot be combined with --output", param_hint="--watch")
    if watch:
        shown: list[bool] = []
        try:
            run(_watch(question, shown), interrupted=-1)
        except typer.Exit as end:
            raise typer.Exit((0 if shown else 130) if end.exit_code == -1 else end.exit_code) from None
        return
    answer = run(_once(question, local=True))
    show(output, answer.as_dict(), lambda: "\n".join(answer.lines()))


@dataclass(frozen=True)
class Answer:
    clouds: list[Node]
    operator: Node | None
    local: dict[str, Any] | None
    hint: str = ""
    live: Live | None = None
    everything: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {
            "clouds": [node.as_dict() for node in self.clouds],
            "operator": self.operator.as_dict() if self.operator else None,
            "api": self.live.as_dict() if self.live else None,
            "cluster": self.local,
        }

    def nodes(self) -> list[Node]:
        from stackwright.cli.ui.public import nodes

        return [*self.clouds, *([self.operator] if self.operator else []), *(nodes(self.live) if self.live else [])]

    def lines(self) -> list[str]:
        from stackwright.cli.ui.tree import lines

        colour = common.coloured()
        text: list[str] = []
        shown = [node if self.everything else _opened(node) for node in self.nodes()]
        for node in shown:
            text += [*lines(node, colour=colour), ""]
        if shown != self.nodes():
            text += ["Ready objects are folded; --all shows them.", ""]
        if self.hint:
            text += [self.hint, ""]
        if self.local:
            text += _local_lines(self.local)
        return text[:-1] if text and not text[-1] else text


def _opened(node: Node) -> Node:
    """The node with all its children; below them, only objects that are not ready."""
    from stackwright.cli.ui.tree import folded

    return replace(node, children=tuple(map(folded, node.children)))


def _local_lines(state: dict[str, Any]) -> list[str]:
    nodes = ", ".join(f"{name} {said}" for name, said in state["nodes"].items())
    problems = [f"  ✗ {c['name']}: {c['problem']}" for c in state["components"] if c["problem"]]
    return [f"Local cluster: {state['state']}" + (f"; nodes: {nodes}" if nodes else ""), *problems]


async def _once(question: Question, *, local: bool) -> Answer:
    from stackwright.cli.cluster.connection import connected, is_local, kubeconfig

    async with connected(question.kubeconfig) as cluster:
        theirs = is_local(kubeconfig(question.kubeconfig)) if local else False
        state = asyncio.create_task(asyncio.to_thread(_local_state)) if theirs else None
        answer = await _answer(cluster, question, live=True)
        return replace(answer, local=await state) if state else answer


def _local_state() -> dict[str, Any] | None:
    from stackwright.local.cluster.state import cluster_state

    return cluster_state().as_dict()


async def _answer(cluster: KubernetesCluster, question: Question, *, live: bool) -> Answer:
    from stackwright.api.kinds import DEPLOYMENT, POD
    from stackwright.cli.failures import CliError
    from stackwright.cli.state.objects import World, read
    from stackwright.cli.state.public import read_live
    from stackwright.cli.ui.resource_tree import trees, workload

    world, told, pods, deployments = await asyncio.gather(
        read(cluster, question.namespace, time.time()),
        read_live(cluster, question.namespace) if live else asyncio.sleep(0),
        cluster.list(POD, OPERATOR_NAMESPACE),
        cluster.list(DEPLOYMENT, OPERATOR_NAMESPACE, {"application": "stackwright"}),
    )
    found = trees(world, question.name)
    if question.name and not found:
        there = ", ".join(node.title for node in trees(world)) or "none"
        raise CliError(f"Cloud {question.namespace}/{question.name} does not exist; found: {there}")
    operator = workload(World(world.now, {POD: pods}), deployments[0]) if deployments else None
    hint = _hint(question.namespace, found, deployments)
    return Answer(found, operator, None, hint, told, question.everything)


def _hint(namespace: str, found: list[Node], operators: list[Object]) -> str:
    from stackwright.cli.follow import unattended

    hints = []
    if not found:
        hints.append(f"No cloud found in namespace {namespace}; create one: stackwright apply -f cloud.yaml")
    hints.append(unattended(operators, namespace))
    return "\n".join(filter(None, hints))


async def _watch(question: Question, shown: list[bool]) -> None:
    from stackwright.cli.cluster.connection import connected

    async with connected(question.kubeconfig) as cluster:
        draw, end = _live() if sys.stdout.isatty() else (_changed_lines(), lambda: None)
        try:
            while True:
                # Without public endpoints: a token every two seconds would be useless load.
                draw(await _answer(cluster, question, live=False))
                shown.append(True)
                await asyncio.sleep(EVERY)
        finally:
            end()


def _live() -> tuple[Callable[[Answer], None], Callable[[], None]]:
    from rich.live import Live
    from rich.text import Text

    from stackwright.cli.ui.tree import fitted

    live = Live(auto_refresh=False, vertical_overflow="crop")
    live.start()

    def draw(answer: Answer) -> None:
        shown = fitted(answer.lines(), live.console.height - 1)
        live.update(Text.from_ansi("\n".join(shown), no_wrap=True, overflow="ellipsis"), refresh=True)

    return draw, live.stop


def _changed_lines() -> Callable[[Answer], None]:
    """Without a terminal: first all lines, then changed ones, with the time since the start."""
    from stackwright.cli.ui.tree import MARKS, flat

    before: dict[str, Node] = {}
    started = time.monotonic()

    def draw(answer: Answer) -> None:
        nonlocal before
        now = dict(flat(answer.nodes()))
        if not before:
            common.echo("\n".join(answer.lines()))
        else:
            stamp = f"{time.monotonic() - started:5.0f}s"
            for path, node in now.items():
                old = before.get(path)
                if old is None or (old.state, old.message) != (node.state, node.message):
                    common.echo(f"{stamp} {MARKS[node.state]} {node.title}{': ' if node.message else ''}{node.message}")
            for path in before.keys() - now.keys():
                common.echo(f"{stamp} - {before[path].title} was deleted")
        before = now
        sys.stdout.flush()

    return draw
