"""One side of a comparison, in its own process: `python -m bench.side WHO --kubeconfig FILE --objects N`.

operator  the operator as in its pod (main.operate), with the given roles
bare      our runtime (KopfSource, KeyedQueue, Runtime) with one controller that reads the object and changes nothing
kopf      plain Kopf: on.create, on.resume and on.update of the same kind, with an empty body or (--status) one that
          sets a field of the status. No Events, no logs below WARNING, no delete handler: all in Kopf's favour

It ends when all objects are handled and it has then used less than 3 % of a core for --quiet seconds, so trailing work
(watches that catch up, Kopf's patches and their echoes) is counted too. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

LIMIT = 300.0
OPERATOR = "default"  # its namespace, which has its Lease
SHARE = 0.03
PROFILE: list[Any] = []  # the profiler and its file, if requested


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def imports() -> None:
    """Import lazily imported modules now, so that the imports do not count as work."""
    importlib.import_module("httpcore2")
    importlib.import_module("anyio._backends._asyncio")
    for name in (
        "adapters.accounts",
        "adapters.helm.command",
    ):
        importlib.import_module(f"stackwright.{name}")
    for name in ("controllers.cloud.validate", "runtime.webhook.certificate"):
        importlib.import_module(f"stackwright.{name}")


class Progress:
    """handled  number of handled objects;  news  watch events so far, and the expected number
    quiet    seconds at rest after which the process counts as settled
    """

    def __init__(self, objects: int, quiet: float) -> None:
        self.objects, self.quiet = objects, quiet
        self.keys: set[str] = set()
        self.news = 0
        self.enough_news = 0
        self.outcomes: Callable[[], dict[str, float]] = dict
        self.handled: Callable[[], int] = lambda: len(self.keys)

    @property
    def done(self) -> bool:
        return self.handled() >= self.objects


async def watch(progress: Progress, work: Coroutine[Any, Any, Any]) -> NoReturn:
    """Run until settled; seconds count from here, CPU seconds both from here and from the start of the process."""
    before, start = cpu(), time.monotonic()
    task = asyncio.create_task(work)
    while not progress.done:
        await _pause(task, 0.05, start)
    done = {"cpu_done": cpu() - before, "cpu_process_done": cpu(), "wall_done": time.monotonic() - start}
    while progress.news < progress.enough_news:
        await _pause(task, 0.05, start)
    while True:
        mark, at = cpu(), time.monotonic()
        await _pause(task, progress.quiet, start)
        if (cpu() - mark) / (time.monotonic() - at) < SHARE:
            break
    found = {
        **done,
        "cpu_settled": mark - before,
        "cpu_process_settled": mark,
        "wall_settled": at - start,
        "handled": progress.handled(),
        "news": progress.news,
        "outcomes": progress.outcomes(),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    finish(found)


def finish(found: dict[str, Any]) -> NoReturn:
    """Print the result and exit immediately: no cleanup is needed, and Kopf is slow to cancel."""
    if PROFILE:
        PROFILE[0].disable()
        PROFILE[0].dump_stats(PROFILE[1])
    print(json.dumps(found), flush=True)
    os._exit(0)


async def _pause(task: asyncio.Task[Any], seconds: float, start: float) -> None:
    await asyncio.sleep(seconds)
    if task.done():
        task.result()
        raise RuntimeError("it ended by itself")
    if time.monotonic() - start > LIMIT:
        print(f"not settled after {LIMIT:.0f} s", file=sys.stderr, flush=True)
        os._exit(1)


def operator(given: argparse.Namespace) -> NoReturn:
    from stackwright.main import Options, operate
    from stackwright.runtime import metrics

    imports()
    progress = Progress(given.objects, given.quiet)
    progress.enough_news = given.news
    _count_news(progress)

    def outcomes() -> dict[str, float]:
        return {
            f"{sample.labels['kind']} {sample.labels['outcome']}": sample.value
            for metric in metrics.RECONCILES.collect()
            for sample in metric.samples
            if sample.name.endswith("_total")
        }

    progress.outcomes = outcomes
    progress.handled = lambda: int(sum(v for k, v in outcomes().items() if k.startswith("database ")))
    roles = tuple(given.roles.split(","))
    # Each run reuses the Lease of the previous run, which ended without a release, as the same holder.
    options = Options(roles=roles, kubeconfig=given.kubeconfig, log_level="WARNING", namespace=OPERATOR, uid="bench")
    asyncio.run(watch(progress, operate(options)))


def bare(given: argparse.Namespace) -> NoReturn:
    from dataclasses import dataclass

    from stackwright.adapters.kubernetes.client import KubernetesCluster
    from stackwright.api.services.contracts import DatabaseAccount
    from stackwright.core.controller import Controller
    from stackwright.core.plan import Key, Object, Plan
    from stackwright.core.ports import NO_CLOUDS, Reader
    from stackwright.main import ports
    from stackwright.runtime import logs
    from stackwright.runtime.cluster.cache import CachedReader, Store, WriteThrough
    from stackwright.runtime.cluster.source import KopfSource
    from stackwright.runtime.queue import KeyedQueue
    from stackwright.runtime.reconcile import Runtime

    kind = DatabaseAccount.KIND
    imports()
    progress = Progress(given.objects, given.quiet)
    progress.enough_news = given.news
    _count_news(progress)
    logs.configure("WARNING")
    os.environ["KUBECONFIG"] = given.kubeconfig

    @dataclass(frozen=True)
    class Seen:
        obj: Object

    async def observe(reader: Reader, key: Key, now: float) -> Seen | None:
        obj = await reader.get(kind, key)
        return None if obj is None else Seen(obj)

    def decide(seen: Seen) -> Plan:
        progress.keys.add(seen.obj["metadata"]["name"])
        return Plan()

    async def work() -> None:
        cluster = KubernetesCluster.from_file(given.kubeconfig)
        store = Store()
        wired = ports(WriteThrough(store, cluster), given.kubeconfig, NO_CLOUDS)
        controller = Controller("bare", "bare", kind, (), observe, decide)
        loop = Runtime((controller,), wired, CachedReader(store, cluster), store, KeyedQueue())
        await loop.load()
        await asyncio.gather(KopfSource(kubeconfig=given.kubeconfig).run(loop.kinds, loop.on_event), loop.run())

    asyncio.run(watch(progress, work()))


def _count_news(progress: Progress) -> None:
    from stackwright.runtime.events import Events

    original = Events.on_event

    def counted(self: Events, gone: bool, kind: Any, obj: Any) -> None:
        progress.news += 1
        original(self, gone, kind, obj)

    Events.on_event = counted  # type: ignore[method-assign]


def kopf(given: argparse.Namespace) -> NoReturn:
    import logging

    import kopf

    from stackwright.api.services.contracts import DatabaseAccount

    kind = DatabaseAccount.KIND
    place = (kind.group, kind.version, kind.plural)
    progress = Progress(given.objects, given.quiet)
    registry = kopf.OperatorRegistry()
    logging.getLogger("kopf").setLevel(logging.WARNING)
    os.environ["KUBECONFIG"] = given.kubeconfig

    @kopf.on.create(*place, registry=registry)
    @kopf.on.resume(*place, registry=registry)
    @kopf.on.update(*place, registry=registry)
    async def handle(name: str, patch: kopf.Patch, **_: Any) -> None:
        if given.status:
            patch.status["observedGeneration"] = given.status
        progress.keys.add(name)

    @kopf.on.login(registry=registry)
    def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
        return kopf.login_with_kubeconfig(**kwargs)

    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.watching.chunk_size = 500
    work = kopf.operator(registry=registry, settings=settings, standalone=True, clusterwide=True)
    asyncio.run(watch(progress, work))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("who", choices=("operator", "bare", "kopf"))
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--objects", type=int, required=True)
    parser.add_argument("--roles", default="secrets", help="operator: which roles")
    parser.add_argument("--news", type=int, default=0, help="operator, bare: events that the watches must bring")
    parser.add_argument("--quiet", type=float, default=1.0, help="seconds at rest, by which it is known to be through")
    parser.add_argument("--status", type=int, default=0, help="kopf: set status.observedGeneration to this")
    parser.add_argument("--profile", default="", help="file for a profile; the figures are then not to be used")
    given = parser.parse_args()
    work = {"operator": operator, "bare": bare, "kopf": kopf}[given.who]
    if given.profile:
        import cProfile

        PROFILE.append(cProfile.Profile(time.process_time))
        PROFILE.append(given.profile)
        PROFILE[0].enable()
    work(given)


if __name__ == "__main__":
    main()
