"""An API server with our kinds and objects, for benches; on loopback, removed at the end of the `with` block.

The objects are DatabaseAccounts as the operator leaves them: with its finalizer, Secret and status. The operator's own
code creates them (decide, execute, report), so their shape is right by construction; only the SQL is omitted. Benches
still check that the operator found nothing to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from bench.options import BenchError
from bench.side import OPERATOR
from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.adapters.system import SystemClock, SystemEntropy
from stackwright.api.crd import crd
from stackwright.api.kinds import CRD, LEASE, NAMESPACE
from stackwright.api.meta import Kind
from stackwright.api.services.contracts import DatabaseAccount
from stackwright.cloud.registry import RESOURCES
from stackwright.controllers.contract.database import DATABASE
from stackwright.controllers.contract.decide import decide
from stackwright.controllers.contract.observe import Observed
from stackwright.core.conditions import find
from stackwright.core.objects import FINALIZER, key_of
from stackwright.core.plan import Object
from stackwright.core.ports import Ports, absent
from stackwright.core.secrets.writes import EnsureSecret
from stackwright.local.kubernetes.api import Api
from stackwright.runtime.cycle.execute import execute
from stackwright.runtime.cycle.report import status_of
from stackwright.runtime.lease.record import NAME
from stackwright.services.mariadb.kind import MariaDB
from support.control_plane import control_plane

SPACE = "bench"
MANAGER = "stackwright-database"
SIDE_BY_SIDE = 16
LAST_HANDLED = "kopf.zalando.org/last-handled-configuration"
WRITE = re.compile(r"^apiserver_request_total\{([^}]*)\} (\S+)$", re.MULTILINE)
VERBS = {"POST", "PUT", "PATCH", "APPLY", "DELETE"}
COUNTED = {"databaseaccounts", "secrets", "events", "mariadbs"}  # not the Lease, which an operator renews at rest


@dataclass
class Server:
    """kubeconfig  of an administrator;  accounts  the DatabaseAccounts, each with its desired status"""

    kubeconfig: Path
    accounts: list[tuple[Object, Object]] = field(default_factory=list)

    def writes(self) -> int:
        """Writes to the kinds of the benches, by the server's count, from all clients, including rejected ones."""
        url = urlsplit(yaml.safe_load(self.kubeconfig.read_text())["clusters"][0]["cluster"]["server"])
        status, text = Api(self.kubeconfig.parent / "pki", str(url.hostname), int(url.port or 0)).request(
            "GET", "/metrics", limit=60
        )
        if status != 200:
            raise BenchError(f"the API server's /metrics answer {status}")
        total = 0.0
        for labels, value in WRITE.findall(text):
            found = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if found["verb"] in VERBS and found["resource"] in COUNTED:
                total += float(value)
        return int(total)


@contextlib.contextmanager
def api_server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, control_plane(Path(folder)) as kubeconfig:
        asyncio.run(_with(kubeconfig, _install))
        yield Server(kubeconfig)


def seed(server: Server, count: int) -> None:
    """Create `count` up-to-date DatabaseAccounts, and the MariaDB that they name."""
    server.accounts = asyncio.run(_with(server.kubeconfig, lambda cluster: _seed(cluster, count)))


def outdate(server: Server) -> None:
    """Set each status to an older generation, so that the operator writes the status once, without an Event."""

    async def work(cluster: KubernetesCluster) -> None:
        await _all(_status(cluster, obj, _older(status)) for obj, status in server.accounts)

    asyncio.run(_with(server.kubeconfig, work))


def forget(server: Server) -> None:
    """Remove Kopf's annotations from the objects, so that they are new to it."""

    async def work(cluster: KubernetesCluster) -> None:
        patch = {"metadata": {"annotations": {LAST_HANDLED: None}}}
        await _all(cluster.patch(DatabaseAccount.KIND, key_of(obj), patch) for obj, _ in server.accounts)

    asyncio.run(_with(server.kubeconfig, work))


def _older(status: Object) -> Object:
    conditions = [{**condition, "observedGeneration": 0} for condition in status["conditions"]]
    return {**status, "conditions": conditions, "observedGeneration": 0}


async def _with(kubeconfig: Path, work: Callable[[KubernetesCluster], Awaitable[Any]]) -> Any:
    cluster = KubernetesCluster.from_file(str(kubeconfig))
    try:
        return await work(cluster)
    finally:
        await cluster.close()


async def _install(cluster: KubernetesCluster) -> None:
    for resource in RESOURCES:
        await cluster.apply(CRD, crd(resource), "bench")
    async with asyncio.timeout(60):
        while not all((find(obj, "Established") or {}).get("status") == "True" for obj in await cluster.list(CRD)):
            await asyncio.sleep(0.1)
    await cluster.apply(NAMESPACE, {"metadata": {"name": SPACE}}, "bench")
    await cluster.create(LEASE, {"metadata": {"namespace": OPERATOR, "name": NAME}}, "bench")  # as the chart does


async def _seed(cluster: KubernetesCluster, count: int) -> list[tuple[Object, Object]]:
    made = await cluster.apply(
        MariaDB.KIND, {"metadata": {"name": "mariadb", "namespace": SPACE}, "spec": {"size": "single"}}, "bench"
    )
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "observedGeneration": 1}
    ready["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    body = {"metadata": {"name": "mariadb", "namespace": SPACE, "uid": made["metadata"]["uid"]}}
    instance = await cluster.apply_status(
        MariaDB.KIND, {**body, "status": {"conditions": [ready], "observedGeneration": 1}}, "stackwright-mariadb"
    )
    return await _all(_account(cluster, instance, index) for index in range(count))


async def _account(cluster: KubernetesCluster, instance: Object, index: int) -> tuple[Object, Object]:
    name = f"account-{index:05}"
    short = f"d{index:05}"
    obj = await cluster.apply(
        DatabaseAccount.KIND,
        {
            "metadata": {"name": name, "namespace": SPACE, "finalizers": [FINALIZER]},
            "spec": {"database": short, "username": short, "secretName": f"{name}-db"},
        },
        "bench",
    )
    writer = _Writer(cluster)
    first = decide(Observed(DATABASE, obj, instance, None))
    await execute([action for action in first.actions if isinstance(action, EnsureSecret)], _ports(writer), MANAGER)
    second = decide(Observed(DATABASE, obj, instance, writer.answer))
    status = status_of(second, obj, SystemClock().now())
    assert status is not None and status["digest"]
    await _status(cluster, obj, status)
    return obj, status


async def _status(cluster: KubernetesCluster, obj: Object, status: Object) -> None:
    meta = {name: obj["metadata"][name] for name in ("name", "namespace", "uid")}
    await cluster.apply_status(DatabaseAccount.KIND, {"metadata": meta, "status": status}, MANAGER)


class _Writer:
    """A cluster without objects that keeps the last response, which saves a read for each object."""

    def __init__(self, cluster: KubernetesCluster) -> None:
        self._cluster = cluster
        self.answer: Object = {}

    async def get(self, kind: Kind, key: Any) -> None:
        return None

    async def apply(self, kind: Kind, obj: Object, manager: str) -> Object:
        self.answer = await self._cluster.apply(kind, obj, manager)
        return self.answer

    async def create(self, kind: Kind, obj: Object, manager: str) -> Object:
        return await self.apply(kind, obj, manager)


def _ports(writer: Any) -> Ports:
    none = absent("that")
    return Ports(writer, none, SystemClock(), SystemEntropy())


async def _all(work: Iterable[Awaitable[Any]]) -> list[Any]:
    """The results in order, with limited concurrency."""
    queue = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(each: Awaitable[Any]) -> Any:
        async with queue:
            return await each

    return list(await asyncio.gather(*(one(each) for each in work)))
