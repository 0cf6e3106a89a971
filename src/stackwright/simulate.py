"""What would happen: the real controllers on a copy of the cluster, with every step assumed to succeed.

The cycle is that of the operator (runtime/cycle/cycle.py), with ports in memory. This module adds what a plan needs:
the order of the controllers, the actions and waits of each turn, and the end, when nothing changes any more. Objects
are read from the real cluster once; nothing is written there and no program is started. Workloads are not read, so a
release counts as ready when it is installed, and the next level continues.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from stackwright.api.kinds import DAEMONSET, SECRET
from stackwright.api.meta import Kind
from stackwright.cloud.registry import RESOURCES
from stackwright.controllers.catalog import controllers
from stackwright.core.ages import Ages
from stackwright.core.conditions import PROGRESSING, READY, Condition, SameAs, Wait, find
from stackwright.core.controller import Controller
from stackwright.core.objects import key_of
from stackwright.core.openstack.clouds import Clouds
from stackwright.core.openstack.resources import ResourceKey
from stackwright.core.plan import Action, Apply, Key, Object, Plan
from stackwright.core.ports import Conflict, Contents, Ports, Reader, TerminalError, TransientError
from stackwright.core.settings import Settings
from stackwright.runtime.cluster.specs import replace_spec
from stackwright.runtime.cycle.cycle import Cycle, Failure
from stackwright.runtime.cycle.execute import execute
from stackwright.runtime.cycle.report import report
from stackwright.runtime.memory import (
    ForecastClouds,
    FrozenClock,
    MemoryAgents,
    MemoryBroker,
    MemoryCluster,
    MemoryContents,
    MemoryHelm,
    MemoryIdentity,
    MemorySql,
    SeededEntropy,
    ceph,
)
from stackwright.runtime.memory.snapshot import Snapshot
from stackwright.services.ceph.values import REQUESTS

# Those whose plans change something outside; the others only tell, or follow pods.
ROLES = ("osdpl", "helmbundle", "secrets", "servers")
ROUNDS = 60
LONG_AGO = 24 * 3600.0  # since when what is there has been there: no pause is still to be waited for
EVERY_NODE = 100_000


@dataclass(frozen=True)
class Step:
    """One thing that would be done, or (action None) waited for.

    about    the object whose controller does it: "Keystone openstack/keystone"
    before   the object of an Apply as it was at that moment, or None
    removed  an object that goes because its owner goes
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
    """What is asked: objects to apply, as which field manager, objects whose specs are replaced whole, and objects to
    delete, before the operator's turn.

    resumed   what would be done if nothing were paused
    assuming  what would be done if the credentials of all OpenStacks were valid
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
    """What is asked beside the cluster.

    contents  what users have in back ends that would go; without it, they count as empty
    clouds    the OpenStacks in which objects have something; without it, none is asked
    """

    contents: Contents | None = None
    clouds: Clouds | None = None


@dataclass
class Forecast:
    """steps    in the order of the operator
    stuck    object → why it would not get ready, at the end, as message
    reasons  message → its reason
    base     the cluster as it is;  world  as it would be
    settled  False when the rounds ended before the changes did
    unheard  cloud → why it could not be asked what is in it
    """

    base: Snapshot
    world: MemoryCluster
    steps: list[Step] = field(default_factory=list)
    stuck: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    settled: bool = False
    unheard: dict[str, str] = field(default_factory=dict)


async def simulate(
    reader: Reader, settings: Settings, request: Request, now: float, outside: Outside | None = None
) -> Forecast:
    """Apply and delete what is asked, then let the controllers work until nothing changes."""
    return await _Simulation(Snapshot(reader), settings, request, now, outside or Outside()).run()


class _Simulation:
    def __init__(self, base: Snapshot, settings: Settings, request: Request, now: float, outside: Outside) -> None:
        self.clock = FrozenClock(now)
        self.world = MemoryCluster(base, self.clock)
        self.request = request
        self.forecast = Forecast(base, self.world)
        self.clouds = clouds = ForecastClouds(outside.clouds, assuming=request.assuming)
        self.controllers = controllers(settings, ROLES, clouds, ages=Ages(self.clock.now, LONG_AGO))
        self.ports = Ports(
            cluster=self.world,
            helm=MemoryHelm(self.world, self.clock),
            sql=MemorySql(),
            broker=MemoryBroker(),
            identity=MemoryIdentity(),
            clock=self.clock,
            entropy=SeededEntropy(),
            contents=outside.contents or MemoryContents(),
            agents=MemoryAgents(),
            clouds=clouds,
        )
        self.cycle = Cycle(
            self.world, self.clock, self._execute, self._report, pauses=not request.resumed, limited=False
        )
        self.round = 0
        self.about = ""
        self._waits: dict[tuple[Kind, Key], Wait | None] = {}  # what Ready of an object waits for
        self._told: set[tuple[str, Wait | str]] = set()

    async def run(self) -> Forecast:
        await self._hold()
        self.world.subscribe(self._on_change)
        await self._ask()
        await self._look()
        for self.round in range(1, ROUNDS + 1):
            before = len(self.world.writes), len(self.forecast.steps)
            for controller in self.controllers:
                for obj in await self.world.list(controller.kind, self.request.namespace):
                    await self._turn(controller, key_of(obj))
            self.clock.forward(2.0)  # longer than a release is given to settle
            if before == (len(self.world.writes), len(self.forecast.steps)):
                self.forecast.settled = True
                break
        await self._stuck()
        self.forecast.unheard = {str(cloud): why for cloud, why in self.clouds.unheard.items()}
        return self.forecast

    async def _hold(self) -> None:
        """Bring what may become garbage into memory: the collector there sees nothing that lies below."""
        for kind in (*(resource.KIND for resource in RESOURCES), SECRET):
            for obj in await self.world.list(kind, self.request.namespace):
                if obj["metadata"].get("ownerReferences"):
                    with contextlib.suppress(TerminalError):  # an object of an older version; it stays below
                        await self.world.patch(kind, key_of(obj), {})

    async def _ask(self) -> None:
        """The user's own changes are the first steps."""
        self.about = "you"
        asked = [(self.world.apply, each) for each in self.request.apply]
        asked += [(partial(replace_spec, self.world), each) for each in self.request.replace]
        for write, (kind, obj) in asked:
            before = await self.world.get(kind, key_of(obj))
            after = await write(kind, obj, self.request.manager)
            if before is None or before.get("spec") != after.get("spec"):
                self._note(Apply(kind, after, "requested"), before)
        for kind, key in self.request.delete:
            await self.world.delete(kind, key)
        self.world.writes.clear()

    async def _look(self) -> None:
        """Let all objects look at their OpenStacks together: to confirm that something is gone takes some seconds."""
        async with self.clouds.together():
            for controller in self.controllers:
                for obj in await self.world.list(controller.kind, self.request.namespace) if controller.remote else ():
                    with contextlib.suppress(TransientError, TerminalError, Conflict):  # its turn reports it
                        await controller.observe(self.world, key_of(obj), self.clock.now())

    async def _turn(self, controller: Controller, key: Key) -> None:
        with contextlib.suppress(Conflict):  # its step reports it, and the next round decides again
            await self.cycle.run(controller, key)

    async def _execute(self, controller: Controller, key: Key, actions: Sequence[Action]) -> Mapping[ResourceKey, str]:
        """The Executor of the cycle: runs the actions one by one, and records each as a step."""
        self.about = f"{controller.kind.kind} {'/'.join(key)}"
        made: dict[ResourceKey, str] = {}
        for action in actions:
            before = await self._before(action)
            try:
                made |= await execute([action], self.ports, controller.manager)
            except (TransientError, TerminalError, Conflict) as error:
                self._note_failure(action, str(error))
                raise
            self._note(action, before)
            self._held(action)
        return made

    async def _report(self, controller: Controller, plan: Plan, current: Object, failure: Failure | None) -> bool:
        """The Reporter of the cycle, for the object after the actions, unless they deleted it."""
        self._note_waits(controller, plan, key_of(current))
        after = await self.world.get(controller.kind, key_of(current))
        return after is not None and await report(controller, plan, after, self.world, self.clock.now())

    def _held(self, action: Action) -> None:
        """The nodes fetch the images that they are told to hold, and a Ceph of the cloud's own does as it is asked."""
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

    async def _before(self, action: Action) -> Object | None:
        return await self.world.get(action.kind, key_of(action.obj)) if isinstance(action, Apply) else None

    def _note(self, action: Action, before: Object | None = None) -> None:
        self.forecast.steps.append(Step(self.round, self.about, action, before))

    def _note_failure(self, action: Action, error: str) -> None:
        """Records a failure once, although each round repeats an action that cannot succeed."""
        if (self.about, error) not in self._told:
            self._told.add((self.about, error))
            self.forecast.steps.append(Step(self.round, self.about, action, error=error))

    def _note_waits(self, controller: Controller, plan: Plan, key: Key) -> None:
        """Records each wait once, without its cause, which changes from round to round."""
        for condition in plan.conditions:
            wait = self._wait_of(condition)
            if condition.type == READY:
                self._waits[controller.kind, key] = wait
            elif condition.type != PROGRESSING and wait is not None and (self.about, wait) not in self._told:
                self._told.add((self.about, wait))
                self.forecast.steps.append(Step(self.round, self.about, wait=wait))

    def _wait_of(self, condition: Condition) -> Wait | None:
        wait = condition.waits_for
        if condition.status or condition.blocked:
            return None
        return self._waits.get((wait.kind, wait.key)) if isinstance(wait, SameAs) else wait

    def _on_change(self, event: str, kind: Kind, obj: Object) -> None:
        if event == "DELETED" and not (kind == SECRET and (obj["metadata"].get("labels") or {}).get("owner") == "helm"):
            self.forecast.steps.append(Step(self.round, self.about, removed=(kind, key_of(obj))))

    async def _stuck(self) -> None:
        for resource in RESOURCES:
            for obj in await self.world.list(resource.KIND, self.request.namespace):
                entry = find(obj)
                if entry and entry["status"] != "True":
                    name = f"{resource.KIND.kind} {'/'.join(key_of(obj))}"
                    reason = str(entry.get("reason") or "")
                    message = str(entry.get("message") or reason)
                    self.forecast.stuck[name] = message
                    self.forecast.reasons[message] = reason


def images(configmap: Object | None) -> dict[str, str]:
    """Image references from the ConfigMap that the operator gets them from."""
    text = ((configmap or {}).get("data") or {}).get("images.json")
    found: dict[str, str] = json.loads(text) if text else {}
    return found
