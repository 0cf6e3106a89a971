"""Two operator processes at a real API server: one holds the Lease, and the other one replaces it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest_asyncio

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import LEASE
from stackwright.runtime.lease.record import NAME

PROGRAM = str(Path(sys.executable).with_name("stackwright"))
PATIENCE = 300.0  # a process needs 2.5 s of CPU time to start, and may get a hundredth of a busy machine


class Operator:
    """A process of `stackwright operator`, as in a pod of that name or of the name `pod`."""

    def __init__(self, name: str, kubeconfig: str, namespace: str, folder: Path, *more: str, pod: str = "") -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = folder / f"{name}.log"
        words = ["operator", f"--kubeconfig={kubeconfig}", f"--namespace={namespace}"]
        words += more or ["--controllers=secrets"]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with self.log.open("wb") as log:
            argv = [PROGRAM, *words, f"--health-port={self.port}", f"--pod-uid={pod or name}"]
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, env=environment)

    async def ask(self, path: str) -> tuple[int, dict[str, Any]] | None:
        """Code and content of a response; None without a response."""
        with contextlib.suppress(aiohttp.ClientError):
            async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{self.port}{path}") as found:
                return found.status, json.loads(await found.text())
        return None

    async def code(self, path: str) -> int:
        answer = await self.ask(path)
        return answer[0] if answer else 0

    async def exit_code(self) -> int:
        return await asyncio.to_thread(self.process.wait, PATIENCE)

    def __str__(self) -> str:
        return f"exit code {self.process.poll()}\n{self.log.read_text()}"


@pytest_asyncio.fixture
async def two(
    kubeconfig: str, cluster: KubernetesCluster, namespace: str, tmp_path: Path
) -> AsyncIterator[tuple[Operator, Operator]]:
    """The holder of the Lease, and an operator that waits for it."""
    await cluster.create(LEASE, {"metadata": {"namespace": namespace, "name": NAME}}, "test")
    one = Operator("one", kubeconfig, namespace, tmp_path)
    operators = [one]
    try:
        await until(lambda: one.code("/readyz"), 200, one)
        operators.append(Operator("two", kubeconfig, namespace, tmp_path))
        await until(lambda: operators[1].code("/healthz"), 200, operators[1])
        yield one, operators[1]
    finally:
        for each in operators:
            each.process.kill()
            each.process.wait()


async def until(what: Callable[[], Any], value: Any, operator: Operator) -> None:
    found = None
    try:
        async with asyncio.timeout(PATIENCE):
            while (found := await what()) != value:
                assert operator.process.poll() is None, str(operator)
                await asyncio.sleep(0.2)
    except TimeoutError:
        raise AssertionError(f"{found!r} instead of {value!r}; {operator}") from None


async def record(cluster: KubernetesCluster, namespace: str) -> Any:
    return (await cluster.get(LEASE, (namespace, NAME)) or {})["spec"]


async def test_an_operator_waits_and_replaces_one_that_was_killed(
    two: tuple[Operator, Operator], cluster: KubernetesCluster, namespace: str
) -> None:
    one, other = two
    holder = (await record(cluster, namespace))["holderIdentity"]
    assert holder.endswith("_one")

    async def waits() -> bool:
        return holder in ((await other.ask("/readyz") or (0, {}))[1].get("waits") or "")

    await until(waits, True, other)
    assert [await other.code(path) for path in ("/healthz", "/readyz", "/servingz")] == [200, 503, 200]
    assert f"{holder} holds the Lease" in other.log.read_text()
    one.process.kill()
    await until(lambda: other.code("/readyz"), 200, other)
    found = await record(cluster, namespace)
    assert found["holderIdentity"].endswith("_two")
    assert found["leaseTransitions"] == 1


async def test_an_operator_that_was_stopped_for_long_ends_when_it_continues(
    two: tuple[Operator, Operator], cluster: KubernetesCluster, namespace: str
) -> None:
    one, other = two
    one.process.send_signal(signal.SIGSTOP)
    await until(lambda: other.code("/readyz"), 200, other)
    one.process.send_signal(signal.SIGCONT)
    assert await one.exit_code() == 1, str(one)
    assert "another one may write" in one.log.read_text()
    assert other.process.poll() is None
    assert (await record(cluster, namespace))["holderIdentity"].endswith("_two")


async def test_an_operator_that_ends_releases_the_lease(
    two: tuple[Operator, Operator], cluster: KubernetesCluster, namespace: str
) -> None:
    """A waiting operator also ends on SIGTERM, and does not change the Lease."""
    one, other = two
    other.process.terminate()
    assert await other.exit_code() == 0, str(other)
    assert (await record(cluster, namespace))["holderIdentity"].endswith("_one")
    one.process.terminate()
    assert await one.exit_code() == 0, str(one)
    assert not (await record(cluster, namespace)).get("holderIdentity")


async def test_the_last_container_of_a_pod_to_end_releases_the_lease(
    kubeconfig: str, cluster: KubernetesCluster, namespace: str, tmp_path: Path
) -> None:
    """With `controllers.mode: split`, each container runs some controllers, and all share a lock file."""
    await cluster.create(LEASE, {"metadata": {"namespace": namespace, "name": NAME}}, "test")
    more = ("--pod=p", f"--lease-lock={tmp_path / 'lock'}")
    operators = [
        Operator(name, kubeconfig, namespace, tmp_path, f"--controllers={name}", *more, pod="shared")
        for name in ("secrets", "health")
    ]
    try:
        for each in operators:
            await until(partial(each.code, "/readyz"), 200, each)
        operators[0].process.terminate()
        assert await operators[0].exit_code() == 0, str(operators[0])
        assert (await record(cluster, namespace))["holderIdentity"] == "p_shared"
        operators[1].process.terminate()
        assert await operators[1].exit_code() == 0, str(operators[1])
        assert not (await record(cluster, namespace)).get("holderIdentity")
    finally:
        for each in operators:
            each.process.kill()
            each.process.wait()
