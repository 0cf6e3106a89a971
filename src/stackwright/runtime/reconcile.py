"""The operator's loop for all kinds: workers take keys from the queue and run the cycle (runtime/cycle/cycle.py).

Events and lists (runtime/events.py, runtime/lists.py) only add keys to the queue, and no key is reconciled
concurrently. Errors of external systems and internal errors (runtime/faults.py) become conditions with their cause, and
the key is retried. No error ends a worker, a watch or the resync.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from stackwright.core.conditions import Condition, steady
from stackwright.core.controller import Controller
from stackwright.core.errors import Conflict, TerminalError, TransientError, Unavailable, UnmanagedNamespace
from stackwright.core.helm.limits import CALL_SECONDS
from stackwright.core.openstack.resources import ResourceKey
from stackwright.core.plan import Action, Key, Plan
from stackwright.core.ports import Ports, Reader
from stackwright.runtime import faults, metrics
from stackwright.runtime.cluster.cache import Store
from stackwright.runtime.cycle.cycle import Cycle, Failure, StatusReporter
from stackwright.runtime.cycle.execute import execute
from stackwright.runtime.cycle.report import failed, report
from stackwright.runtime.events import Events, Item
from stackwright.runtime.lists import Lists
from stackwright.runtime.queue import KeyedQueue

RESERVED = 2  # workers for urgent work
# Workers for controllers that call OpenStacks of users. They mostly wait, but the API client has 100 connections.
OPENSTACK = 64
HELM = 32  # workers for controllers that call Helm
SHARE = 8  # maximum of either per namespace, less if few are free, so that slow clouds delay only their own namespace
# Timeout in seconds of an observation and of each action: a call of Helm, the same time in its queue, and a margin.
# Calls of OpenStacks of users have a much shorter timeout (core.openstack.clouds.CALL_SECONDS).
LONGEST = 3 * CALL_SECONDS
# Failed observations of an object are reported after LASTS seconds and ATTEMPTS attempts. A success resets both, and so
# does an unavailable API. If an API is unavailable for an object for OUTAGE seconds, that is reported, because it may
# reject only this request.
LASTS, ATTEMPTS, OUTAGE = 15.0, 3, 300.0
log = structlog.get_logger()


def _shared(controller: Controller) -> bool:
    return controller.remote or controller.helm


@dataclass
class _Unobserved:
    """Failed observations of an object.

    away  time of the first error of an unavailable API
    """

    since: float = 0.0
    away: float | None = None
    attempts: int = 0
    reported: bool = False


class Runtime:
    """`reader` serves `observe`, `ports` serve the executor; both access the same cluster."""

    def __init__(
        self, controllers: Iterable[Controller], ports: Ports, reader: Reader, store: Store, queue: KeyedQueue[Item]
    ) -> None:
        self.controllers = {controller.name: controller for controller in controllers}
        self.ports, self.reader, self.store, self.queue = ports, reader, store, queue
        self._busy: dict[Item, tuple[float, float]] = {}  # start and deadline
        self._unobserved: dict[Item, _Unobserved] = {}
        self._cycle = Cycle(reader, ports.clock, self._execute, StatusReporter(ports.cluster, ports.clock))
        events = Events(self.controllers.values(), store, queue)
        self._lists = lists = Lists(ports.cluster, store, events, self.ends)
        self.kinds = events.kinds
        # Callbacks of watches.
        self.on_event = events.on_event
        self.load, self.listing, self.on_listed = lists.load, lists.listing, lists.on_listed
        urgent = {controller.name for controller in self.controllers.values() if controller.urgent}
        queue.urgent = lambda item: item[0] in urgent
        pools = {
            each.name: "openstack" if each.remote else "helm" for each in self.controllers.values() if _shared(each)
        }
        queue.share = lambda item: item[1][0] if item[0] in pools else None
        queue.pool = lambda item: pools.get(item[0], "")

    async def work(self, urgent: bool = False) -> None:
        """One worker, for all items or for urgent ones only; it ends only by cancellation or a crash."""
        while True:
            await self._work_on(await self.queue.get(urgent))

    async def _work_on(self, item: Item) -> None:
        metrics.QUEUE_DEPTH.set(len(self.queue))
        try:
            await self.reconcile(item)
        finally:
            self.queue.done(item)

    async def _work_shared(self, group: asyncio.TaskGroup, pool: str, workers: int) -> None:
        """All workers for the shares of a pool: one task per item in progress."""
        free = asyncio.Semaphore(workers)
        while True:
            await free.acquire()
            task = group.create_task(self._work_on(await self.queue.get_shared(SHARE, workers, pool)))
            task.add_done_callback(lambda _: free.release())

    async def reconcile(self, item: Item) -> None:
        name, key = item
        controller = self.controllers[name]
        started = time.perf_counter()
        outcome = "error"
        self._busy[item] = (started, started + LONGEST)
        try:
            outcome = await self._attempt(controller, item)
        except BaseException as error:  # a SystemExit raised by a library must not end the worker
            if self.ends(error):
                raise
            self.queue.retry(item)
            faults.note("reconcile", error, controller=name, object="/".join(key))
            await self._tell(controller, key, faults.failed(error), faults.REASON)
        finally:
            del self._busy[item]
            metrics.RECONCILE_SECONDS.labels(name).observe(time.perf_counter() - started)
            metrics.RECONCILES.labels(name, outcome).inc()

    def ends(self, error: BaseException) -> bool:
        """Whether an exception ends a worker."""
        return faults.ends(error)

    def stuck(self) -> list[str]:
        """Items, as texts, that workers have processed for longer than all their calls may take."""
        now = time.perf_counter()
        return [
            f"a worker has been processing {name} {'/'.join(key)} for {now - since:.0f} s"
            for (name, key), (since, latest) in self._busy.items()
            if now > latest
        ]

    async def _attempt(self, controller: Controller, item: Item) -> str:
        """Reconcile an item once, and queue it again as needed; returns the outcome for metrics."""
        key = item[1]
        try:
            result = await self._cycle.run(controller, key)
        except Conflict as error:
            self.queue.retry(item)
            for kind, named in {(controller.kind, key), (error.kind, error.key)}:
                await self._lists.reread(kind, named)
            await self._tell_unobserved(controller, item, error)
            return "conflict"
        except (TransientError, TerminalError) as error:
            outcome = self._failed(item, error)
            await self._tell_unobserved(controller, item, error)
            return outcome
        self._unobserved.pop(item, None)
        if result.failure is not None:
            return self._failed(item, result.failure)
        self.queue.forget(item)
        if result.requeue is not None:
            self.queue.add(item, result.requeue)
        return result.outcome

    def _failed(self, item: Item, error: Failure) -> str:
        name, key = item
        delay = self.queue.retry(item, error.after)
        log.info("reconcile failed", controller=name, object="/".join(key), cause=str(error), again_in=round(delay, 1))
        return "waiting" if isinstance(error, TransientError) else "refused"

    async def _tell_unobserved(self, controller: Controller, item: Item, error: Failure | Conflict) -> None:
        """Report an error of the observation or of the report itself, which the cycle did not report, if it lasts.

        An API server refuses requests briefly while it starts, and rarely accepts the report while it is unavailable.
        """
        failures, now = self._unobserved.setdefault(item, _Unobserved()), asyncio.get_running_loop().time()
        if isinstance(error, Unavailable):
            failures.attempts = 0
            failures.away = now if failures.away is None else failures.away
            lasts = now - failures.away >= OUTAGE
        else:
            failures.since = failures.since if failures.attempts else now
            failures.attempts += 1
            lasts = failures.attempts >= ATTEMPTS and now - failures.since >= LASTS
        lasts = lasts or isinstance(error, UnmanagedNamespace)  # no request was sent, and only a restart changes it
        if lasts:
            reason = "" if failures.reported else "Failed"
            failures.reported |= await self._tell(controller, item[1], failed(error), reason)

    async def _tell(self, controller: Controller, key: Key, told: Condition, reason: str) -> bool:
        """Report a failure of the cycle: in Ready if this controller owns it, else by an Event with this reason, if
        any.

        All other fields of the status keep their values, and the next success replaces Ready. Returns False if the
        report failed.
        """
        try:
            obj = await self.reader.get(controller.kind, key)
            if obj is None:
                return True
            if controller.reports and controller.owns_ready_of(obj):
                now, cluster = self.ports.clock.now(), self.ports.cluster
                await report(controller, Plan(conditions=(told,)), obj, cluster, now, controller.fault_manager)
            elif reason:
                await self.ports.cluster.event(obj, reason, steady(told.message), True)
        except BaseException as further:
            if self.ends(further):
                raise
            log.warning("failure not reported", controller=controller.name, cause=type(further).__name__)
            return False
        return True

    async def _execute(self, controller: Controller, key: Key, actions: Sequence[Action]) -> Mapping[ResourceKey, str]:
        """The Executor of the cycle: extends the worker's deadline, and logs and counts each action."""
        since, latest = self._busy[controller.name, key]
        self._busy[controller.name, key] = (since, latest + LONGEST * len(actions))
        for action in actions:
            log.info("action", controller=controller.name, object="/".join(key), action=str(action))
            metrics.ACTIONS.labels(action.verb).inc()
        return await execute(actions, self.ports, controller.manager)

    async def run(self, workers: int = 8, resync: float = 600.0, reserved: int = RESERVED) -> None:
        """Run until cancelled; a crash of one worker ends all.

        `workers` process urgent and ordinary items, `reserved` further workers only urgent ones. The
        shared items have OPENSTACK and HELM workers of their own.
        """
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self.work())
            for _ in range(reserved):
                group.create_task(self.work(urgent=True))
            group.create_task(self._work_shared(group, "openstack", OPENSTACK))
            group.create_task(self._work_shared(group, "helm", HELM))
            group.create_task(self._lists.verify_absent())
            group.create_task(self._lists.resync(resync))
