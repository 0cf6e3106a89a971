"""The reconcile loop for all kinds: key → observe → decide → execute → report.

An event only adds keys to the queue, and no key is reconciled concurrently. Errors of external systems and internal
errors (runtime/faults.py) become conditions with their cause, and the key is retried. No error ends a worker, a watch
or the resync.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import structlog

from stackwright.api.meta import Kind
from stackwright.core.conditions import is_as_before, is_reworded, steady
from stackwright.core.controller import ByOwner, Controller
from stackwright.core.objects import MANAGED, key_of
from stackwright.core.openstack.clouds import Slot, at_once, fill, removes
from stackwright.core.plan import Key, Object, Plan
from stackwright.core.ports import Conflict, NotYet, Ports, Reader, Refused
from stackwright.runtime import faults, metrics
from stackwright.runtime.cache import PARTIAL, Store, is_told_of, is_watched
from stackwright.runtime.execute import execute
from stackwright.runtime.pausing import is_stackwright_paused, unless_paused
from stackwright.runtime.queue import KeyedQueue
from stackwright.runtime.report import after_failure, report

Item = tuple[str, Key]  # controller's name, key
RESERVED = 2  # workers for urgent work
# Workers for controllers that call OpenStacks of users. They mostly wait, but the API client has 100 connections.
REMOTE = 64
HELM = 32  # workers for what waits for Helm
SHARE = 8  # of either for a namespace at most, fewer when few are free: whoever has slow clouds waits for them alone
SOON = 2.0  # seconds from a removal to the next look: what goes takes a moment, and may never go
# Seconds that looking and each action may take: a call of Helm 300, as long for its turn to come, and a margin. What
# asks OpenStacks of users ends long before, whatever these do (core.openstack.clouds.LONGEST).
LONGEST = 900.0
log = structlog.get_logger()


def _shared(controller: Controller) -> bool:
    return controller.remote or controller.helm


def bounded(plan: Plan) -> Plan:
    """The plan with a limited number of deletions; the next reconcile decides on the rest, which stays on record."""
    actions = at_once(plan.actions)
    if len(actions) < len(plan.actions) or (plan.requeue == 0 and any(map(removes, actions))):
        return replace(plan, actions=actions, requeue=SOON)
    return plan


class Runtime:
    """`reader` serves `observe`, `ports` serve the executor; both access the same cluster."""

    def __init__(
        self, controllers: Iterable[Controller], ports: Ports, reader: Reader, store: Store, queue: KeyedQueue[Item]
    ) -> None:
        self.controllers = {controller.name: controller for controller in controllers}
        self.ports, self.reader, self.store, self.queue = ports, reader, store, queue
        self._paused: set[tuple[Kind, Key]] = set()
        self._absent: KeyedQueue[tuple[Kind, Key]] = KeyedQueue()  # absent from a list, not confirmed
        self._busy: dict[Item, tuple[float, float]] = {}  # start and deadline
        # (Kind, kind of an owner or "") → controller, keys, and whether changes of messages alone count.
        self._routes: dict[tuple[Kind, str], list[tuple[str, Any, bool]]] = {}
        for controller in self.controllers.values():
            self._routes.setdefault((controller.kind, ""), []).append((controller.name, None, True))
            for watch in controller.watches:
                owner = watch.keys.kind if isinstance(watch.keys, ByOwner) else ""
                self._routes.setdefault((watch.kind, owner), []).append((controller.name, watch.keys, watch.words))
        urgent = {controller.name for controller in self.controllers.values() if controller.urgent}
        queue.urgent = lambda item: item[0] in urgent
        pools = {each.name: "remote" if each.remote else "helm" for each in self.controllers.values() if _shared(each)}
        queue.share = lambda item: item[1][0] if item[0] in pools else None
        queue.pool = lambda item: pools.get(item[0], "")
        for kind in self.kinds:
            store.watch(kind)

    @property
    def kinds(self) -> list[Kind]:
        return list(dict.fromkeys(kind for kind, _ in self._routes))

    def on_event(self, gone: bool, kind: Kind, obj: Object) -> None:
        """Store a change that a watch reported, and queue all keys that it concerns."""
        try:
            if gone:
                self.store.drop(kind, obj)
                self._paused.discard((kind, key_of(obj)))
                self.enqueue(kind, obj)
            else:
                self._put(kind, obj)
        except Exception as error:
            faults.note("event", error, kind=kind.kind)

    def _put(self, kind: Kind, obj: Object) -> None:
        """Store an object and, if it is new, queue all keys that it concerns."""
        before = self.store.told(kind, key_of(obj))
        if self.store.put(kind, obj):
            now = self.store.told(kind, key_of(obj))
            writer = self.store.writer(kind, obj)
            if writer and (before is None or now is None or not is_as_before(before, now)):
                writer = ""  # includes a foreign change before our write, which no watch reports separately
            reworded = before is not None and now is not None and is_reworded(before, now)
            self.enqueue(kind, obj, writer, reworded)

    def enqueue(self, kind: Kind, obj: Object, writer: str = "", reworded: bool = False) -> None:
        """Queue all keys that an object concerns. A change of messages alone does not advance a retry.

        Otherwise two failing objects that watch each other would wake each other without end, because messages may
        differ at each attempt.
        """
        owners = dict.fromkeys(ref.get("kind") for ref in obj["metadata"].get("ownerReferences") or ())
        for name, keys, words in [each for owner in ("", *owners) for each in self._routes.get((kind, owner), ())]:
            if reworded and not words:
                continue
            try:
                for key in (key_of(obj),) if keys is None else keys(obj, self.store.list):
                    self._add((name, key), writer, reworded)
            except Exception as error:  # the keys are unknown, so queue all objects
                faults.note("event", error, controller=name, kind=kind.kind, object="/".join(key_of(obj)))
                for key in self.store.keys(self.controllers[name].kind):
                    self.queue.add((name, key))
        kept = self.store.get(kind, key_of(obj))
        if (kept is not None and is_stackwright_paused(kept)) != ((kind, key_of(obj)) in self._paused):
            self._pause_changed(kind, obj)
        metrics.QUEUE_DEPTH.set(len(self.queue))

    def _add(self, item: Item, writer: str, reworded: bool) -> None:
        controller = self.controllers[item[0]]
        own = bool(writer) and writer in (controller.manager, controller.fault_manager)
        if own and reworded:
            return  # its own message is not new to it, and the next reconcile may change it again
        if own or reworded:
            self.queue.echo(item)
        else:
            self.queue.add(item)

    def _pause_changed(self, kind: Kind, obj: Object) -> None:
        """Queue all pausable objects of the namespace, because a pause affects dependents at any depth."""
        self._paused ^= {(kind, key_of(obj))}
        for controller in self.controllers.values():
            if controller.pausable:
                for each in self.store.list(controller.kind, obj["metadata"].get("namespace", "")):
                    self.queue.add((controller.name, key_of(each)))

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
        """All workers of the shares of a pool: a task for each item, as long as it is worked on."""
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
            await self._tell(controller, key, error)
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
        name, key = item
        try:
            outcome, requeue = await self._course(controller, key)
        except Conflict as error:
            self.queue.retry(item)
            for kind, named in {(controller.kind, key), (error.kind, error.key)}:
                await self._look_again(kind, named)
            return "conflict"
        except (NotYet, Refused) as error:
            delay = self.queue.retry(item, getattr(error, "after", None))
            log.info("not yet", controller=name, object="/".join(key), cause=str(error), again_in=round(delay, 1))
            return "waiting" if isinstance(error, NotYet) else "refused"
        self.queue.forget(item)
        if requeue is not None:
            self.queue.add(item, requeue)
        return outcome

    async def _tell(self, controller: Controller, key: Key, error: BaseException) -> None:
        """Report an internal error to users: in Ready if this controller owns it, else by an Event."""
        try:
            obj = await self.reader.get(controller.kind, key)
            if obj is None:
                return
            if controller.reports and controller.ready:
                now, cluster = self.ports.clock.now(), self.ports.cluster
                await report(controller, faults.told(error), obj, cluster, now, controller.fault_manager)
            else:
                await self.ports.cluster.event(obj, faults.REASON, faults.words(error), True)
        except BaseException as further:
            if self.ends(further):
                raise
            log.warning("internal error not reported", controller=controller.name, cause=type(further).__name__)

    async def _course(self, controller: Controller, key: Key) -> tuple[str, float | None]:
        now = self.ports.clock.now()
        seen = await controller.observe(self.reader, key, now)
        if seen is None:
            return "gone", None
        plan = await unless_paused(controller, bounded(controller.decide(seen)), self.reader, seen.obj)
        try:
            made = await self._execute(controller, key, plan)
        except (NotYet, Refused) as error:
            if controller.reports:
                await self._report(controller, after_failure(plan, seen.obj, error), seen.obj)
            else:
                await self.ports.cluster.event(seen.obj, "Failed", steady(str(error)), True)
            raise
        plan = replace(plan, status=fill(plan.status, made)) if made else plan
        written = await self._report(controller, plan, seen.obj)
        changed = bool(plan.actions) or written
        return ("changed" if changed else "unchanged"), plan.requeue

    async def _execute(self, controller: Controller, key: Key, plan: Plan) -> dict[Slot, str]:
        since, latest = self._busy[controller.name, key]
        self._busy[controller.name, key] = (since, latest + LONGEST * len(plan.actions))
        for action in plan.actions:
            log.info("action", controller=controller.name, object="/".join(key), action=str(action))
            metrics.ACTIONS.labels(action.verb).inc()
        return await execute(plan.actions, self.ports, controller.manager)

    async def _report(self, controller: Controller, plan: Plan, current: Object) -> bool:
        try:
            return await report(controller, plan, current, self.ports.cluster, self.ports.clock.now())
        except Refused:
            # If the object was deleted during the reconcile, there is no status to write.
            if await self.ports.cluster.get(controller.kind, key_of(current)) is None:
                return False
            raise

    async def _look_again(self, kind: Kind, key: Key) -> None:
        """Read an object again after a conflict: the cache is outdated, and a missed deletion would stay in it."""
        known = self.store.get(kind, key)
        if known is None and kind in PARTIAL:
            return  # no watch would update it
        try:
            current = await self.ports.cluster.get(kind, key)
        except (NotYet, Refused):
            return  # the item is retried anyway
        if known is not None and not is_told_of(kind, known, current):
            self.on_event(True, kind, known)
        if current is not None and is_watched(kind, current):
            self.store.keep(kind, current)

    async def load(self, kinds: Iterable[Kind] | None = None) -> None:
        """List every watched kind into the store and queue new objects; also finds changes that a watch missed."""
        for kind in kinds or self.kinds:
            known = self.store.known(kind)
            found = await self.ports.cluster.list(kind, "", MANAGED if kind in PARTIAL else None)
            absent = self.store.keys(kind) - {key_of(obj) for obj in found}
            for obj in found:
                self.store.overrule(known, obj)
                self._put(kind, obj)
            self._doubt(kind, absent)

    def listing(self, kind: Kind) -> Callable[[Object], None]:
        """A watch is about to list a kind anew; what is returned is told of each object listed, before its event."""
        known = self.store.known(kind)
        return lambda obj: self.store.overrule(known, obj)

    async def on_listed(self, kind: Kind, present: set[Key]) -> None:
        """Compare the store with a new list of a watch, because deletions before the list have no event."""
        self._doubt(kind, self.store.keys(kind) - present)

    def _doubt(self, kind: Kind, absent: Iterable[Key]) -> None:
        for key in absent:
            self._absent.add((kind, key))

    async def _ask_of_absent(self) -> None:
        """Drop objects that are absent from a list, after a read of each: it may have been created after the list."""
        while True:
            kind, key = item = await self._absent.get()
            try:
                known = self.store.get(kind, key)
                if known is not None and not is_told_of(kind, known, await self.ports.cluster.get(kind, key)):
                    self.on_event(True, kind, known)
                self._absent.forget(item)
            except BaseException as error:
                if self.ends(error):
                    raise
                delay = self._absent.retry(item, getattr(error, "after", None))
                if isinstance(error, NotYet | Refused):
                    about = {"kind": kind.kind, "object": "/".join(key), "again_in": round(delay, 1)}
                    log.info("the deletion could not be verified", cause=str(error), **about)
                else:
                    faults.note("resync", error, kind=kind.kind)
            finally:
                self._absent.done(item)

    async def run(self, workers: int = 8, resync: float = 600.0, reserved: int = RESERVED) -> None:
        """Run until cancelled; a crash of one worker ends all.

        `workers` process urgent and ordinary items, `reserved` further workers only urgent ones. The
        shared items have REMOTE and HELM workers of their own.
        """
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self.work())
            for _ in range(reserved):
                group.create_task(self.work(urgent=True))
            group.create_task(self._work_shared(group, "remote", REMOTE))
            group.create_task(self._work_shared(group, "helm", HELM))
            group.create_task(self._ask_of_absent())
            group.create_task(self._resync(resync))

    async def _resync(self, every: float) -> None:
        """List all kinds periodically, in case a watch missed a change."""
        while True:
            await asyncio.sleep(every)
            for kind in self.kinds:
                try:
                    await self.load([kind])
                except (NotYet, Refused, Conflict) as error:  # the next resync retries it; continue with other kinds
                    log.warning("resync failed", kind=kind.kind, cause=str(error))
                except Exception as error:
                    faults.note("resync", error, kind=kind.kind)
