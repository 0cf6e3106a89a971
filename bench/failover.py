"""Time until another pod of MariaDB is primary under a full load of Helm, and the same with one queue.

How: the runtime with the controllers of HelmBundles and of the primary, on the in-memory cluster, in real time.
HelmBundles of four namespaces are to be installed, and each Helm call takes two seconds, so Helm is always busy.
Then, n times, the primary becomes unready, and the time until another pod has the label is measured. The peer is the
same runtime with one queue: Helm has no workers of its own and holds all eight, and the primary is not urgent.

Sources of error: too few calls of Helm (checked before each sample, an error if so). Writes in memory take no time, so
the API server's time is not included. A real Helm call takes up to 300 s, and the peer's time grows with it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bench.figure import Figure, Goal, percentile
from bench.options import BenchError, Options

CALL = 2.0
BUNDLES, PEER_BUNDLES = 64, 16  # twice the number of their workers
NAMESPACES = 4
WORKERS = 8
SERVERS = 3
NAMESPACE = "bench"
LABELS = {"application": "mariadb", "component": "server"}


def measure(options: Options) -> Iterator[Figure]:
    import structlog

    structlog.configure(logger_factory=structlog.ReturnLoggerFactory(), cache_logger_on_first_use=False)
    ours = asyncio.run(_side(options.n or 100, one_queue=False))
    theirs = asyncio.run(_side(min(options.n or 20, 20), one_queue=True))
    yield Figure(
        "a pod of MariaDB not ready → another one is primary, full load of Helm",
        "s",
        ours,
        Goal(most=0.1),
        peer="one queue for all",
        peers=theirs,
        note=f"each call of Helm takes {CALL:g} s here, and up to 300 s in a cloud; "
        f"the peer: n {len(theirs)}, p95 {percentile(theirs, 0.95):.3g}",
    )


class _BusyHelm:
    """A core.ports.Helm with slow calls and no effect, so that they are repeated."""

    def __init__(self) -> None:
        self.running = 0

    async def upgrade(self, action: Any) -> None:
        self.running += 1
        try:
            await asyncio.sleep(CALL)
        finally:
            self.running -= 1


async def _side(count: int, *, one_queue: bool) -> list[float]:
    from stackwright.api.kinds import POD
    from stackwright.controllers import helmbundle, primary
    from stackwright.core.ages import Ages
    from stackwright.core.ports import Ports
    from stackwright.core.settings import Settings
    from stackwright.runtime.cluster.cache import CachedReader, Store, WriteThrough
    from stackwright.runtime.memory import MemoryCluster, SeededEntropy
    from stackwright.runtime.queue import KeyedQueue
    from stackwright.runtime.reconcile import Runtime

    clock, helm, store = _Clock(), _BusyHelm(), Store()
    cluster = MemoryCluster(clock=clock)
    ports = Ports(WriteThrough(store, cluster), helm, clock, SeededEntropy())  # type: ignore[arg-type]
    bundles, failover = helmbundle.controllers(Settings({}, {"busy": "1"}), Ages(time.monotonic)), primary.controller()
    if one_queue:
        bundles = tuple(replace(each, helm=False) for each in bundles)
        failover = replace(failover, urgent=False)
    controllers = (*bundles, failover)
    runtime = Runtime(controllers, ports, CachedReader(store, cluster), store, KeyedQueue())
    cluster.subscribe(
        lambda event, kind, obj: runtime.on_event(event == "DELETED", kind, obj) if kind in runtime.kinds else None
    )
    _fill(cluster, PEER_BUNDLES if one_queue else BUNDLES)
    await runtime.load()
    work = asyncio.create_task(runtime.run(WORKERS))
    try:
        await asyncio.sleep(CALL / 2)
        samples = []
        for _ in range(count):
            await asyncio.sleep(random.uniform(0.01, 0.1))  # at a random time within a call
            if helm.running < WORKERS:
                raise BenchError(f"only {helm.running} calls of Helm run at once")
            before = _primary(cluster)
            pod = next(pod for pod in cluster.all(POD, NAMESPACE) if pod["metadata"]["name"] == before)
            start = time.perf_counter()
            cluster.put(POD, {**pod, "status": _status(ready=False)})
            while _primary(cluster) in (before, ""):
                if work.done() or time.perf_counter() - start > 60:
                    raise BenchError("no other pod became primary")
                await asyncio.sleep(0.0005)
            samples.append(time.perf_counter() - start)
            pod = next(pod for pod in cluster.all(POD, NAMESPACE) if pod["metadata"]["name"] == before)
            cluster.put(POD, {**pod, "status": _status(ready=True)})
        return samples
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


class _Clock:
    def now(self) -> float:
        return time.time()


def _fill(cluster: Any, bundles: int) -> None:
    """HelmBundles that never become ready, a MariaDB and its pods."""
    from stackwright.api.kinds import POD
    from stackwright.api.services.helmbundle import HelmBundle
    from stackwright.services.mariadb.kind import MariaDB

    for index in range(bundles):
        release = {"name": f"busy-{index}", "chart": "busy", "values": {}}
        meta = {"name": f"busy-{index}", "namespace": f"busy-{index % NAMESPACES}"}
        cluster.put(HelmBundle.KIND, {"metadata": meta, "spec": {"releases": [release]}})
    cluster.put(MariaDB.KIND, {"metadata": {"name": "mariadb", "namespace": NAMESPACE}, "spec": {}})
    for index in range(SERVERS):
        role = {"mariadb-role": "backup" if index else "primary"}
        pod = {"name": f"mariadb-server-{index}", "namespace": NAMESPACE, "labels": LABELS | role}
        cluster.put(POD, {"metadata": pod, "spec": {}, "status": _status(ready=True)})


def _status(*, ready: bool) -> dict[str, Any]:
    return {"phase": "Running", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}


def _primary(cluster: Any) -> str:
    from stackwright.api.kinds import POD

    pods = cluster.all(POD, NAMESPACE, {"mariadb-role": "primary"})
    return str(pods[0]["metadata"]["name"]) if pods else ""
