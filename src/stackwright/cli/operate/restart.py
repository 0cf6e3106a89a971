"""`stackwright restart`: a rolling restart of a service's pods, like `kubectl rollout restart`."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli.cluster import completion
from stackwright.cli.cluster.connection import NAMESPACE
from stackwright.cli.cluster.options import KubeconfigOption, NamespaceOption
from stackwright.cli.common import TimeoutOption, say
from stackwright.core.settings import OPERATOR_NAMESPACE

if TYPE_CHECKING:
    from stackwright.api.meta import Kind
    from stackwright.core.plan import Object
    from stackwright.core.ports import Cluster, Reader

RESTARTED = "kubectl.kubernetes.io/restartedAt"
EVERY = 1.0


def restart(
    what: Annotated[
        str,
        typer.Argument(
            metavar="SERVICE|operator|WORKLOAD",
            help="A service, the operator, or a workload.",
            autocompletion=completion.services,
        ),
    ],
    namespace: NamespaceOption = NAMESPACE,
    wait: Annotated[bool, typer.Option(help="Wait until all new pods are ready.")] = True,
    timeout: TimeoutOption = 600,
    kubeconfig: KubeconfigOption = None,
) -> None:
    """Restart the pods of a service, of the operator, or of one workload, by a rolling update.

    A service is named as in an OpenStackDeployment (identity), as its program (keystone), or with one of its parts
    (nova-scheduler). Workloads that are updated only by hand (`OnDelete`) are listed and not restarted.

    For example:

      stackwright restart keystone

      stackwright restart nova-scheduler --no-wait
    """
    from stackwright.cli.cluster.connection import connected
    from stackwright.cli.failures import run

    async def work() -> None:
        space = OPERATOR_NAMESPACE if what == "operator" else namespace
        async with connected(kubeconfig) as cluster:
            found = await find_workloads(cluster, what, space)
            stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            for kind, obj in found:
                await _restart(cluster, kind, obj, stamp)
            if wait:
                await _follow(cluster, found, timeout)

    run(work())


async def find_workloads(reader: Reader, what: str, namespace: str) -> list[tuple[Kind, Object]]:
    """Deployments, StatefulSets, DaemonSets by service, program, part or name. Raises CliError with the valid names."""
    from stackwright.api.kinds import WORKLOADS
    from stackwright.api.wording import did_you_mean
    from stackwright.cli.failures import CliError
    from stackwright.cli.state.pods import applications, full
    from stackwright.core.objects import label

    lists = await asyncio.gather(*(reader.list(kind, namespace) for kind in WORKLOADS))
    every = [(kind, obj) for kind, found in zip(WORKLOADS, lists, strict=True) for obj in found]
    names = applications(what)
    found = [
        (kind, obj)
        for kind, obj in every
        if label(obj, "application") in names or what in (obj["metadata"]["name"], full(obj))
    ]
    if not found:
        known = sorted({name for _, obj in every if (name := label(obj, "application"))})
        parts = [full(obj) for _, obj in every]
        there = f"{did_you_mean([*known, *parts], what)}found: {', '.join(known) or 'none'}"
        raise CliError(f"No workload of {what} found in namespace {namespace}; {there}")
    return found


async def _restart(cluster: Cluster, kind: Kind, obj: Object, stamp: str) -> None:
    title = f"{kind.kind} {obj['metadata']['name']}"
    if _by_hand(obj):
        say(f"{title}: not restarted; its pods are replaced only when they are deleted (OnDelete)")
        return
    patch = {"spec": {"template": {"metadata": {"annotations": {RESTARTED: stamp}}}}}
    await cluster.patch(kind, (obj["metadata"]["namespace"], obj["metadata"]["name"]), patch)
    say(f"{title}: restarted")


def _by_hand(obj: Object) -> bool:
    return ((obj.get("spec") or {}).get("updateStrategy") or {}).get("type") == "OnDelete"


async def _follow(cluster: Cluster, found: list[tuple[Kind, Object]], timeout: float) -> None:
    from stackwright.cli.failures import CliError
    from stackwright.core.errors import TransientError

    started = time.monotonic()
    waiting = {(kind, obj["metadata"]["name"]): obj for kind, obj in found if not _by_hand(obj)}
    while waiting:
        if time.monotonic() - started > timeout:
            names = ", ".join(f"{kind.kind} {name}" for kind, name in waiting)
            raise CliError(f"Not ready after {timeout:.0f} s: {names}. `stackwright status --all` shows the cause.")
        await asyncio.sleep(EVERY)
        for (kind, name), obj in list(waiting.items()):
            try:
                now = await cluster.get(kind, (obj["metadata"]["namespace"], name))
            except TransientError:  # the API server may be unavailable briefly; the timeout decides
                continue
            if (
                outcome := " was deleted" if now is None else await _done(cluster, {**now, "kind": kind.kind})
            ) is not None:
                say(f"{time.monotonic() - started:5.0f}s ✓ {kind.kind} {name}{outcome}")
                del waiting[kind, name]


async def _done(cluster: Cluster, obj: Object) -> str | None:
    """A message if the workload's pods are new and ready, except on unavailable nodes; None until then."""
    from stackwright.api.kinds import NODE, POD
    from stackwright.core.errors import TerminalError, TransientError
    from stackwright.core.helm.rollouts import is_as_wanted, lost, node_of
    from stackwright.core.kubernetes.nodes import away, is_or_are, nodes_text
    from stackwright.core.kubernetes.workload_health import workload_ready

    if workload_ready(obj):
        return ""
    try:
        nodes = away(await cluster.list(NODE))
        labels = obj["spec"]["selector"].get("matchLabels")
        pods = await cluster.list(POD, obj["metadata"]["namespace"], labels) if nodes else []
    except (TransientError, TerminalError):  # without permission to list nodes, wait for all pods
        return None
    if not is_as_wanted(obj, pods, nodes):
        return None
    gone = {node_of(pod) for pod in lost(obj, pods, nodes)}
    return f", without {nodes_text(gone)}, which {is_or_are(gone)} not ready"
