"""Runs the real controllers on a copy of the cluster, and assumes that every action succeeds.

The cycle is that of the operator (runtime/cycle/cycle.py), with ports in memory. This module adds the order of the
controllers, the record of actions and waits of each reconcile, and the end, when no reconcile changes anything. Objects
are read from the real cluster once; nothing is written there and no program is started. Workloads are not read, so a
release is ready when it is installed, and the next level continues.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from stackwright.api.kinds import DAEMONSET, SECRET
from stackwright.api.meta import Kind
from stackwright.cloud.registry import RESOURCES
from stackwright.controllers.catalog import controllers
from stackwright.core.ages import Ages
from stackwright.core.conditions import READY, Condition, SameAs, Wait, find
from stackwright.core.controller import Controller
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.core.objects import key_of
from stackwright.core.openstack.clouds import Clouds
from stackwright.core.openstack.deployed.inventory import CONFIRM
from stackwright.core.openstack.resources import ResourceKey
from stackwright.core.plan import Action, Apply, DeleteAgents, Inventory, Key, Object, Plan
from stackwright.core.ports import Contents, Ports, Reader
from stackwright.core.settings import Settings
from stackwright.forecast.clouds import ForecastClouds
from stackwright.forecast.snapshot import Snapshot
from stackwright.runtime.cluster.specs import replace_spec
from stackwright.runtime.cycle.cycle import Cycle, Failure
from stackwright.runtime.cycle.execute import execute
from stackwright.runtime.cycle.report import report
from stackwright.runtime.memory import (
    FrozenClock,
    MemoryAccounts,
    MemoryAgents,
    MemoryCluster,
    MemoryContents,
    MemoryHelm,
    SeededEntropy,
    ceph,
)
from stackwright.services.ceph.values import REQUESTS

ROUNDS, EVERY_NODE = 60, 100_000
LONG_AGO = 24 * 3600.0  # age in seconds of all existing objects, so that no controller waits for a minimum age


@dataclass(frozen=True)
class Step:
    """One action that the operator would execute, or one wait (`action` is None).

    about    the object whose controller acts: "Keystone openstack/keystone"
    before   the object of an Apply before this action, or None
    removed  an object that is deleted because its owner is deleted
    """

    round: int
    about: str
    action: Action | None = None
    before: Object | None = None
    wait: Wait | None = None
    error: str = ""
    removed: tuple[Kind, Key] | None = None


@dataclass(frozen=True)
class Request:
    """The user's changes, which precede those of the operator.

    apply     objects to apply
    delete    objects to delete
    manager   the field manager of the user
    replace   objects whose whole specs are replaced
    resumed   whether to ignore pauses
    assuming  whether to assume valid credentials for all OpenStacks
    """

    namespace: str
    apply: tuple[tuple[Kind, Object], ...] = ()
    delete: tuple[tuple[Kind, Key], ...] = ()
    manager: str = "user"
    replace: tuple[tuple[Kind, Object], ...] = ()
    resumed: bool = False
    assuming: bool = False


@dataclass(frozen=True)
class Outside:
    """The external systems that a forecast reads.

    contents  the users' data in back ends that would be deleted; without it, back ends are treated as empty
    clouds    the OpenStacks in which objects have resources; without it, none is queried
    """

    contents: Contents | None = None
    clouds: Clouds | None = None


@dataclass(frozen=True)
class Cause:
    """Message and reason of a condition Ready, and what it waits for."""

    message: str
    reason: str
    wait: Wait | None = None

    def __str__(self) -> str:
        return f"{self.message} ({self.reason})"


@dataclass
class Forecast:
    """steps        in the order of the operator
    stuck        object that would not become ready → the last cause
    base         the present cluster
    world        the cluster after all steps
    settled      False if the changes did not end within ROUNDS
    unreachable  cloud → the error of the queries of its resources
    """

    base: Snapshot
    world: MemoryCluster
    steps: list[Step] = field(default_factory=list)
    stuck: dict[str, Cause] = field(default_factory=dict)
    settled: bool = False
    unreachable: dict[str, str] = field(default_factory=dict)


async def simulate(
    reader: Reader, settings: Settings, request: Request, now: float, outside: Outside | None = None
) -> Forecast:
    """Executes the changes of the request, then runs the controllers until nothing changes."""
    return await _Simulation(Snapshot(reader), settings, request, now, outside or Outside()).run()


class _Simulation:
    def __init__(self, base: Snapshot, settings: Settings, request: Request, now: float, outside: Outside) -> None:
        self.clock, self.agents = FrozenClock(now), MemoryAgents()
        self.world = MemoryCluster(base, self.clock)
        self.request = request
        self.forecast = Forecast(base, self.world)
        self.clouds = clouds = ForecastClouds(outside.clouds, assuming=request.assuming)
        every = controllers(settings, clouds=clouds, ages=Ages(self.clock.now, LONG_AGO))
        self.controllers = [each for each in every if each.forecast]
        self.ports = Ports(
            cluster=self.world,
            helm=MemoryHelm(self.world, self.clock),
            clock=self.clock,
            entropy=SeededEntropy(),
            providers=MemoryAccounts().providers,
            contents=outside.contents or MemoryContents(),
            agents=self.agents,
            clouds=clouds,
        )
        self.cycle = Cycle(self.world, self.clock, self._execute, self._report, resumed=request.resumed, limited=False)
        self.round = 0
        self.about = ""
        self._waits: dict[tuple[Kind, Key], Wait | None] = {}  # the wait in an object's condition Ready
        self._noted: set[tuple[str, Wait | str]] = set()

    async def run(self) -> Forecast:
        await self._copy_dependents()
        self.world.subscribe(self._on_change)
        await self._change()
        await self._query_clouds()
        for self.round in range(1, ROUNDS + 1):
            before = len(self.world.writes), len(self.forecast.steps)
            for controller in self.controllers:
                for obj in await self.world.list(controller.kind, self.request.namespace):
                    await self._reconcile(controller, key_of(obj))
            self.clock.forward(2.0)  # longer than the time that a release may take to settle
            if before == (len(self.world.writes), len(self.forecast.steps)):
                self.forecast.settled = True
                break
        await self._note_stuck()
        self.forecast.unreachable = {str(cloud): why for cloud, why in self.clouds.unreachable.items()}
        return self.forecast

    async def _copy_dependents(self) -> None:
        """Copies objects with an owner into memory, because garbage collection in memory ignores the base."""
        for kind in (*(resource.KIND for resource in RESOURCES), SECRET):
            for obj in await self.world.list(kind, self.request.namespace):
                if obj["metadata"].get("ownerReferences"):
                    with contextlib.suppress(TerminalError):  # an object of an older version stays only in the base
                        await self.world.patch(kind, key_of(obj), {})

    async def _change(self) -> None:
        """Executes the user's changes and records them as the first steps."""
        self.about = "you"
        writes = [(self.world.apply, each) for each in self.request.apply]
        writes += [(partial(replace_spec, self.world), each) for each in self.request.replace]
        for write, (kind, obj) in writes:
            before = await self.world.get(kind, key_of(obj))
            after = await write(kind, obj, self.request.manager)
            if before is None or before.get("spec") != after.get("spec"):
                self._note(Apply(kind, after, "requested"), before)
        for kind, key in self.request.delete:
            await self.world.delete(kind, key)
        self.world.writes.clear()

    async def _query_clouds(self) -> None:
        """Observes all objects with resources in OpenStacks together, because to confirm deletions takes seconds."""
        async with self.clouds.together():
            for controller in self.controllers:
                for obj in await self.world.list(controller.kind, self.request.namespace) if controller.remote else ():
                    with contextlib.suppress(TransientError, TerminalError, Conflict):  # its reconcile reports it
                        await controller.observe(self.world, key_of(obj), self.clock.now())

    async def _reconcile(self, controller: Controller, key: Key) -> None:
        self.about = f"{controller.kind.kind} {'/'.join(key)}"
        with contextlib.suppress(Conflict):  # its step reports it, and the next round decides again
            await self.cycle.run(controller, key)

    async def _execute(self, controller: Controller, key: Key, actions: Sequence[Action]) -> Mapping[ResourceKey, str]:
        """The Executor of the cycle: executes the actions in order, and records each as a step."""
        created: dict[ResourceKey, str] = {}
        for action in actions:
            before = await self.world.get(action.kind, key_of(action.obj)) if isinstance(action, Apply) else None
            try:
                created |= await execute([action], self.ports, controller.manager)
            except (TransientError, TerminalError, Conflict) as error:
                self._note_failure(action, str(error))
                raise
            executed: Sequence[Action] = [action]
            if isinstance(action, DeleteAgents):  # used agents are kept
                executed, self.agents.calls = self.agents.calls, []
            for each in executed:
                self._note(each, before)
            self._simulate_effect(action)
        return created

    async def _report(self, controller: Controller, plan: Plan, current: Object, failure: Failure | None) -> bool:
        """The Reporter of the cycle, for the object after the actions, unless they deleted it."""
        self._note_waits(controller, plan, key_of(current))
        after = await self.world.get(controller.kind, key_of(current))
        return after is not None and await report(controller, plan, after, self.world, self.clock.now())

    def _simulate_effect(self, action: Action) -> None:
        """The effects of other programs: nodes pull the images of DaemonSets, a cloud's own Ceph fulfils requests."""
        if isinstance(action, Inventory):
            self.clock.forward(CONFIRM)  # so that a second one follows at once
        if not isinstance(action, Apply):
            return
        meta = action.obj["metadata"]
        if meta["name"] == REQUESTS and meta.get("ownerReferences"):
            self.world.put(SECRET, ceph.provided_keys(action.obj))
        if action.kind == DAEMONSET:
            live = self.world.peek(DAEMONSET, key_of(action.obj)) or {}
            pods = {"updatedNumberScheduled": EVERY_NODE, "numberReady": EVERY_NODE}
            status = {"observedGeneration": live["metadata"].get("generation", 0), **pods}
            self.world.put(DAEMONSET, {**live, "status": status})

    def _note(self, action: Action, before: Object | None = None) -> None:
        self.forecast.steps.append(Step(self.round, self.about, action, before))

    def _note_failure(self, action: Action, error: str) -> None:
        """Records a failure once, although each round repeats the failed action."""
        if (self.about, error) not in self._noted:
            self._noted.add((self.about, error))
            self.forecast.steps.append(Step(self.round, self.about, action, error=error))

    def _note_waits(self, controller: Controller, plan: Plan, key: Key) -> None:
        """Records each wait once, without its cause, which changes from round to round."""
        for condition in plan.conditions:
            wait = self._wait_of(condition)
            if condition.type == READY:
                self._waits[controller.kind, key] = wait
            elif wait is not None and (self.about, wait) not in self._noted:
                self._noted.add((self.about, wait))
                self.forecast.steps.append(Step(self.round, self.about, wait=wait))

    def _wait_of(self, condition: Condition) -> Wait | None:
        wait = condition.waits_for
        if condition.status or condition.blocked:
            return None
        return self._waits.get((wait.kind, wait.key)) if isinstance(wait, SameAs) else wait

    def _on_change(self, event: str, kind: Kind, obj: Object) -> None:
        if event == "DELETED" and not (kind == SECRET and (obj["metadata"].get("labels") or {}).get("owner") == "helm"):
            self.forecast.steps.append(Step(self.round, self.about, removed=(kind, key_of(obj))))

    async def _note_stuck(self) -> None:
        for resource in RESOURCES:
            for obj in await self.world.list(resource.KIND, self.request.namespace):
                entry = find(obj)
                if entry and entry["status"] != "True":
                    name = f"{resource.KIND.kind} {'/'.join(key_of(obj))}"
                    reason, wait = str(entry.get("reason") or ""), self._waits.get((resource.KIND, key_of(obj)))
                    self.forecast.stuck[name] = Cause(str(entry.get("message") or reason), reason, wait)
