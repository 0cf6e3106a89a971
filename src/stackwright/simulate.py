"""What would happen: the real controllers on a copy of the cluster, with every step assumed to succeed.

`observe` and `decide` are the operator's own, and so are `execute` and `report`; only the ports are in memory. Reads
fall through to the real cluster, once per object; nothing is ever written there and no program is started. Workloads
are left out of sight, so a release counts as ready when it is installed, and each level then goes on to the next.

Values of Secrets are blanked on the way in: no forecast can show one. What is left is why a Helm release failed.
"""

from __future__ import annotations

import base64
import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from stackwright.api.kinds import DAEMONSET, JOB, POD, SECRET, WORKLOADS
from stackwright.api.meta import Kind
from stackwright.cloud.registry import RESOURCES
from stackwright.controllers.catalog import controllers
from stackwright.core.ages import Ages
from stackwright.core.conditions import find
from stackwright.core.controller import Controller
from stackwright.core.helm.records import cause_only
from stackwright.core.objects import key_of
from stackwright.core.openstack.clouds import Clouds, fill
from stackwright.core.plan import Action, Apply, Key, Object, Plan
from stackwright.core.ports import Conflict, Contents, NotYet, Ports, Reader, Refused
from stackwright.core.settings import Settings
from stackwright.runtime import x509
from stackwright.runtime.execute import execute
from stackwright.runtime.memory import (
    ForecastClouds,
    FrozenClock,
    MemoryBroker,
    MemoryCluster,
    MemoryContents,
    MemoryHelm,
    MemoryIdentity,
    MemorySql,
    SeededEntropy,
    ceph,
)
from stackwright.runtime.pausing import unless_paused
from stackwright.runtime.report import after_failure, report
from stackwright.runtime.specs import replace_spec
from stackwright.services.ceph.values import KEYS, REQUESTS

# Those whose plans change something outside; the others only tell, or follow pods.
ROLES = ("osdpl", "helmbundle", "secrets", "servers")
ROUNDS = 60
LONG_AGO = 24 * 3600.0  # since when what is there has been there: no pause is still to be waited for
EVERY_NODE = 100_000
BLANK = base64.b64encode(b"blank").decode()
UNSEEN = (*WORKLOADS, JOB, POD)


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
    wait: str = ""
    error: str = ""
    removed: tuple[Kind, Key] | None = None


@dataclass(frozen=True)
class Request:
    """What is asked: objects to apply, as which field manager, objects whose specs are replaced whole, and objects to
    delete, before the operator's turn.

    resumed  what would be done if nothing were paused
    """

    namespace: str
    apply: tuple[tuple[Kind, Object], ...] = ()
    delete: tuple[tuple[Kind, Key], ...] = ()
    manager: str = "user"
    replace: tuple[tuple[Kind, Object], ...] = ()
    resumed: bool = False


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
    stuck    object → why it would not get ready, at the end
    base     the cluster as it is;  world  as it would be
    settled  False when the rounds ended before the changes did
    unheard  cloud → why it could not be asked what is in it
    """

    base: Snapshot
    world: MemoryCluster
    steps: list[Step] = field(default_factory=list)
    stuck: dict[str, str] = field(default_factory=dict)
    settled: bool = False
    unheard: dict[str, str] = field(default_factory=dict)


class Snapshot:
    """A Reader that asks another one once for each kind and namespace. Secrets come without their values."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._lists: dict[tuple[Kind, str, tuple[tuple[str, str], ...]], list[Object]] = {}
        self._single: dict[tuple[Kind, Key], Object | None] = {}

    async def get(self, kind: Kind, key: Key) -> Object | None:
        if (kind, key) not in self._single:
            if _ours(kind):  # few, and listed anyway
                found = [obj for obj in await self.list(kind, key[0]) if key_of(obj) == key]
                self._single[kind, key] = found[0] if found else None
            else:
                self._single[kind, key] = _blank(kind, await self._reader.get(kind, key))
        return self._single[kind, key]

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        if kind in UNSEEN and not (kind == POD and labels):  # a service may ask its own pods what they found out
            return []
        if labels and _ours(kind):
            every = await self.list(kind, namespace)
            return [obj for obj in every if labels.items() <= (obj["metadata"].get("labels") or {}).items()]
        question = (kind, namespace, tuple(sorted((labels or {}).items())))
        if question not in self._lists:
            found = await self._reader.list(kind, namespace, labels)
            self._lists[question] = [blank for obj in found if (blank := _blank(kind, obj)) is not None]
        return self._lists[question]


def _ours(kind: Kind) -> bool:
    return any(kind == resource.KIND for resource in RESOURCES)


def _blank(kind: Kind, obj: Object | None) -> Object | None:
    if obj is None or kind != SECRET:
        return obj
    # kubectl repeats an applied Secret in an annotation: its values would come in by another door.
    notes = obj["metadata"].get("annotations") or {}
    notes = {name: "" if "last-applied" in name else text for name, text in notes.items()}
    meta = {**obj["metadata"], **({"annotations": notes} if notes else {})}
    blanks = {**dict.fromkeys(obj.get("data") or {}, BLANK), **cause_only(obj)}
    if meta["name"] == KEYS:
        blanks = ceph.blank(blanks)
    if "ca.key" in blanks:  # certificates are issued in a forecast too, by an authority of its own
        made = x509.authority("forecast", time.time())
        blanks |= {name: base64.b64encode(text.encode()).decode() for name, text in made.items()}
    return {**obj, "metadata": meta, "data": blanks}


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
        self.clouds = clouds = ForecastClouds(outside.clouds)
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
            clouds=clouds,
        )
        self.round = 0
        self.about = ""
        self._waits: set[tuple[str, str]] = set()

    async def run(self) -> Forecast:
        await self._hold()
        self.world.subscribe(self._on_change)
        await self._ask()
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
                    with contextlib.suppress(Refused):  # an object of an older version; it stays below
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
                self._note(Apply(kind, after, "asked for"), before)
        for kind, key in self.request.delete:
            await self.world.delete(kind, key)
        self.world.writes.clear()

    async def _turn(self, controller: Controller, key: Key) -> None:
        seen = await controller.observe(self.world, key, self.clock.now())
        if seen is None:
            return
        plan = controller.decide(seen)
        if not self.request.resumed:
            plan = await unless_paused(controller, plan, self.world, seen.obj)
        self.about = f"{controller.kind.kind} {'/'.join(key)}"
        try:
            for action in plan.actions:
                before = await self._before(action)
                made = await execute([action], self.ports, controller.manager)
                plan = replace(plan, status=fill(plan.status, made)) if made else plan
                self._note(action, before)
                self._held(action)
        except (NotYet, Refused, Conflict) as error:
            # Told once: an action that cannot succeed would come back in each round.
            if (self.about, str(error)) not in self._waits:
                self._waits.add((self.about, str(error)))
                self.forecast.steps.append(Step(self.round, self.about, action, error=str(error)))
            plan = after_failure(plan, seen.obj, error)
        await self._report(controller, key, plan)

    async def _report(self, controller: Controller, key: Key, plan: Plan) -> None:
        self._note_waits(plan)
        current = await self.world.get(controller.kind, key)
        if current is not None:
            await report(controller, plan, current, self.world, self.clock.now())

    def _held(self, action: Action) -> None:
        """The nodes fetch the images that they are told to hold, and a Ceph of the cloud's own does as it is asked."""
        if not isinstance(action, Apply):
            return
        meta = action.obj["metadata"]
        if meta["name"] == REQUESTS and meta.get("ownerReferences"):
            self.world.put(SECRET, ceph.handed(action.obj))
        if action.kind == DAEMONSET:
            live = self.world.peek(DAEMONSET, key_of(action.obj)) or {}
            pods = {"updatedNumberScheduled": EVERY_NODE, "numberReady": EVERY_NODE}
            status = {"observedGeneration": live["metadata"].get("generation", 0), **pods}
            self.world.put(DAEMONSET, {**live, "status": status})

    async def _before(self, action: Action) -> Object | None:
        return await self.world.get(action.kind, key_of(action.obj)) if isinstance(action, Apply) else None

    def _note(self, action: Action, before: Object | None = None) -> None:
        self.forecast.steps.append(Step(self.round, self.about, action, before))

    def _note_waits(self, plan: Plan) -> None:
        """Each `Waiting for X: cause` once, without the cause, which changes as X gets on."""
        for condition in plan.conditions[2:]:
            message = condition.message
            if condition.status or condition.blocked or not message.startswith("Waiting for ") or " the " in message:
                continue
            wait = message.split(": ", 1)[0].removeprefix("Waiting for ")
            if (self.about, wait) not in self._waits:
                self._waits.add((self.about, wait))
                self.forecast.steps.append(Step(self.round, self.about, wait=wait))

    def _on_change(self, event: str, kind: Kind, obj: Object) -> None:
        if event == "DELETED" and not (kind == SECRET and (obj["metadata"].get("labels") or {}).get("owner") == "helm"):
            self.forecast.steps.append(Step(self.round, self.about, removed=(kind, key_of(obj))))

    async def _stuck(self) -> None:
        for resource in RESOURCES:
            for obj in await self.world.list(resource.KIND, self.request.namespace):
                entry = find(obj)
                if entry and entry["status"] != "True":
                    name = f"{resource.KIND.kind} {'/'.join(key_of(obj))}"
                    self.forecast.stuck[name] = str(entry.get("message") or entry.get("reason"))


def images(configmap: Object | None) -> dict[str, str]:
    """Image references from the ConfigMap that the operator gets them from."""
    text = ((configmap or {}).get("data") or {}).get("images.json")
    found: dict[str, str] = json.loads(text) if text else {}
    return found
