"""CPU time of one reconcile without changes, per kind, in memory; and of `decide`, its pure part.

How: the scenario tests' world (the operator as wired in main, everything around it in memory) with a cloud of the core
preset, settled in simulated time, and one more account of each contract kind. Then the object of each controller is
reconciled repeatedly: observe from the store, decide, compare the status. Samples are means of a batch, in microseconds
of CPU (process_time); the first batch is not counted.

Sources of error: an object that still changes (checked: no write happens meanwhile); a cloud unlike real ones, because
the cost of a service's reconcile grows with its values and overrides, and that of health with the number of pods.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from bench.figure import Figure
from bench.options import BenchError, Options

BATCH = 50


def measure(options: Options) -> Iterator[Figure]:
    import looptime
    import structlog

    structlog.configure(logger_factory=structlog.ReturnLoggerFactory(), cache_logger_on_first_use=False)
    loop = looptime.new_event_loop()
    try:
        yield from loop.run_until_complete(_measure(options.n or 20))
    finally:
        loop.close()


async def _measure(count: int) -> list[Figure]:
    from tests.scenario.world import World  # type: ignore[import-not-found]  # a file of the scenario tests

    world = World()
    world.cloud()
    await world.settle()
    _accounts(world)
    await world.settle()
    if not world.ready():
        raise BenchError(f"the cloud in memory did not become ready: {world.condition()}")
    runtime = world._runtime
    assert runtime is not None
    before = world.writes
    figures = []
    for controller in runtime.controllers.values():
        for obj in sorted(runtime.store.list(controller.kind), key=lambda obj: str(obj["metadata"]["name"]))[:1]:
            figures += await _controller(runtime, controller, obj, count)
    if world.writes != before:
        raise BenchError(f"{world.writes - before} writes in a world at rest")
    await world.stop()
    return figures


def _accounts(world: Any) -> None:
    """One account of each contract kind, including kinds that no service of the core preset uses."""
    from stackwright.api.services.contracts import KeystoneService, MessagingAccount

    where = {"name": "bench", "namespace": "openstack"}
    spec: dict[str, Any] = {"vhost": "bench", "username": "bench", "secretName": "bench-mq"}
    world.cluster.put(MessagingAccount.KIND, {"metadata": where, "spec": spec})
    urls = {"internal": "http://bench.openstack.svc:80", "public": "http://bench.example:80"}
    spec = {"serviceName": "bench", "serviceType": "bench", "endpoints": urls, "username": "bench-svc"}
    spec["secretName"] = "bench-ks"
    world.cluster.put(KeystoneService.KIND, {"metadata": where, "spec": spec})


async def _controller(runtime: Any, controller: Any, obj: Any, count: int) -> list[Figure]:
    from stackwright.core.objects import key_of

    key = key_of(obj)
    item = (controller.name, key)
    seen = await controller.observe(runtime.reader, key, runtime.ports.clock.now())
    plan = controller.decide(seen)
    if plan.actions:
        raise BenchError(f"{controller.name} {key} is not at rest: {[str(action) for action in plan.actions]}")

    async def whole() -> None:
        await runtime.reconcile(item)

    async def pure() -> None:
        controller.decide(seen)

    name = f"{controller.name} {key[1]}"
    return [
        Figure(f"{name}: reconcile", "µs", await _samples(whole, count)),
        Figure(f"{name}: decide", "µs", await _samples(pure, count)),
    ]


async def _samples(work: Callable[[], Awaitable[None]], count: int) -> list[float]:
    found = []
    for _ in range(count + 1):
        start = time.process_time()
        for _ in range(BATCH):
            await work()
        found.append((time.process_time() - start) / BATCH * 1e6)
    return found[1:]
