"""Runs the DaemonSet of the examination for a limited time, and always deletes it, also after Ctrl-C."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stackwright.adapters.kubernetes.errors import MissingRight
from stackwright.api.kinds import DAEMONSET, NAMESPACE, POD, SECRET
from stackwright.controllers.cloud.pull_secrets import OF_USERS
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.core.findings import Finding
from stackwright.core.objects import key_of, label
from stackwright.core.plan import Object
from stackwright.core.ports import Cluster
from stackwright.examine.demand import Demand
from stackwright.examine.nodes import has_label
from stackwright.examine.observe import ADMINISTRATOR, MANAGER
from stackwright.examine.probe import pod
from stackwright.examine.probe.reports import findings, reported

PREFIX = "stackwright-doctor-"
TRIES = 60
EVERY = 2.0  # seconds between two tries
ERRORS = (TerminalError, TransientError, Conflict)


@dataclass(frozen=True)
class Pace:
    """tries  number of reads of the pods, with `sleep` between them"""

    tries: int = TRIES
    every: float = EVERY
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


async def examine(
    cluster: Cluster,
    nodes: Sequence[Object],
    image: str,
    demand: Demand,
    say: Callable[[str], None],
    pace: Pace = Pace(),
    operator: Object | None = None,
) -> list[Finding]:
    """Findings about the nodes with Linux. An error of the API is a finding, too.

    operator  its Deployment, if it is installed: the pods use its pull Secrets
    """
    space = f"{PREFIX}{uuid.uuid4().hex[:8]}"
    places = [each for each in demand.labels if any(has_label(node, each) for node in nodes)]
    linux = [node for node in nodes if label(node, "kubernetes.io/os") == "linux"]
    try:
        await cluster.apply(NAMESPACE, pod.namespace(space), MANAGER)
    except TerminalError as error:  # nothing was created
        return [_failed(error)]
    except (TransientError, Conflict):
        pass  # it may have been created
    found: list[Finding] = []
    try:
        script = Path(__file__).with_name("script.py").read_text()
        secrets = await _pull_secrets(cluster, space, operator) if operator else []
        await cluster.apply(DAEMONSET, pod.daemonset(space, image, script, places, secrets), MANAGER)
        found = findings(linux, await _watch(cluster, space, len(linux), say, pace), demand)
    except ERRORS as error:
        found = [_failed(error)]
    finally:
        try:
            await cluster.delete(NAMESPACE, ("", space))
        except ERRORS as error:
            text = f"The namespace {space} was not deleted: {error}"
            found.append(Finding("nodes", "problem", text, f"`kubectl delete namespace {space}`"))
    return found


async def _pull_secrets(cluster: Cluster, space: str, operator: Object) -> list[str]:
    """Copy those of the operator's pull Secrets that the user may read; returns their names."""
    found = []
    for each in operator["spec"]["template"]["spec"].get("imagePullSecrets") or ():
        with suppress(TerminalError):
            secret = await cluster.get(SECRET, (key_of(operator)[0], each["name"])) or {}
            if secret.get("type") in OF_USERS:
                meta = {"namespace": space, "name": each["name"], "labels": pod.LABELS}
                copy = {"metadata": meta, "type": secret["type"], "data": secret.get("data") or {}}
                await cluster.apply(SECRET, copy, MANAGER)
                found.append(str(each["name"]))
    return found


def _failed(error: Exception) -> Finding:
    remedy = "Repeat the command after that was corrected."
    if isinstance(error, MissingRight):
        remedy = ADMINISTRATOR
    elif not isinstance(error, TerminalError):
        remedy = "Repeat the command."
    return Finding("nodes", "problem", f"They were not examined: {error}", remedy)


async def _watch(cluster: Cluster, space: str, nodes: int, say: Callable[[str], None], pace: Pace) -> list[Object]:
    """The pods, when all have reported or the time is over."""
    for turn in range(pace.tries):
        if turn:
            await pace.sleep(pace.every)
        pods = await cluster.list(POD, space)
        say(f"{len(reported(pods))} of {nodes} nodes reported")
        if len(reported(pods)) >= nodes:
            break
    return pods
