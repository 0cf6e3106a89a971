"""Any changes of a server by others, at any time: it is complete again afterwards, or reports the loss."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import Any, cast

from hypothesis import example, given
from hypothesis import strategies as st

from stackwright.api.kinds import NAMESPACE
from stackwright.controllers.server.decide import decide
from stackwright.controllers.server.observe import KIND, observe
from stackwright.core.conditions import READY, Condition
from stackwright.core.controller import Controller
from stackwright.core.objects import FINALIZER
from stackwright.core.openstack.calls import CloudCall, resolve_pending
from stackwright.core.openstack.clouds import Subscription
from stackwright.core.openstack.clouds import run as submit
from stackwright.core.openstack.errors import TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resources import CloudRef, CloudResource, ProjectView
from stackwright.core.plan import Finalizer, Object
from stackwright.core.ports import Reader
from stackwright.core.prune import without_empties
from stackwright.runtime.cycle.report import after_failure
from stackwright.runtime.memory import FrozenClock
from support.infra_specs import ID
from support.openstack import MemoryClouds

UID = "5b6c1d0e-0000-4000-8000-000000000001"
MAKING = ("create port", "create trunk", "create volume", "create server", "delete server")
OURS = ("server", "port", "trunk", "volume")
WHOLE = [
    "port web-0", "port web-1", "server web", "trunk web-0", "trunk web-1", "volume web-data", "volume web-root",
]  # fmt: skip


class Clouds(MemoryClouds):
    """young   the process has just begun: objects that wait for nothing see only servers
    hidden  existing resources that are not listed yet
    """

    young = False
    hidden = ""

    async def subscribe(self, cloud: CloudRef, subscription: Subscription) -> None:
        self.young = self.young and not subscription.waits
        await super().subscribe(cloud, subscription)

    def view(self, subscription: Subscription) -> ProjectView:
        found = super().view(subscription)
        unlisted_types = frozenset(subscription.kinds) - {"server"} if self.young else frozenset[str]()
        seen = tuple(thing for thing in found.things if thing.type not in unlisted_types and thing.id != self.hidden)
        return replace(found, things=seen, unlisted_types=unlisted_types, settled=not self.hidden)


CONTROLLER = Controller("server", "servers", KIND, (), cast(Any, None), decide)


class Walk:
    """A server, its cloud, and its controller."""

    def __init__(self, policy: str) -> None:
        self.clock = FrozenClock()
        self.clouds = Clouds(self.clock)
        network = self.clouds.put("network", "private")
        spec = {
            "identityRef": {"name": "clouds", "cloudName": "mine"},
            "flavorID": "7",
            "image": {"id": ID},
            "sshKeyName": "",
            "ports": [{"network": {"id": network.id}}, {"network": {"filter": {"name": "private"}}}],
            "trunk": True,
            "rootVolume": {"sizeGiB": 10},
            "additionalBlockDevices": [{"name": "data", "sizeGiB": 5, "storage": {"type": "Volume"}}],
            "recreatePolicy": policy,
        }
        meta: Object = {"name": "web", "namespace": "ns", "uid": UID, "generation": 1, "finalizers": []}
        self.obj: Object | None = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": meta, "spec": spec}
        self.told: tuple[Condition, ...] = ()
        self.disks: dict[str, frozenset[str]] = {}  # server → its volumes, of all that were ever known
        self.dies = ""  # with which request, before what came of it is written down

    async def get(self, kind: Any, key: Any) -> Object | None:
        if kind == NAMESPACE:
            return {"metadata": {"uid": "cluster"}}
        return self.obj if kind == KIND else None

    async def reconcile(self) -> None:
        if (seen := await observe(self.clouds, cast(Reader, self), ("ns", "web"), self.clock.now())) is None:
            return
        assert self.obj is not None
        plan, made = decide(seen), {}
        try:
            for action in plan.actions:
                if isinstance(action, CloudCall):
                    made[action.resource_key] = await submit(self.clouds, action)
                elif isinstance(action, Finalizer) and action.present:
                    self.obj["metadata"] |= {"finalizers": [FINALIZER], "annotations": dict(action.note)}
                elif isinstance(action, Finalizer):
                    self.obj = None
                    return
        except (TransientCloudError, TerminalCloudError) as error:
            plan = after_failure(CONTROLLER, plan, self.obj, error)
        if any(
            f"{call.do} {call.resource_key[0]}" == self.dies for call in plan.actions if isinstance(call, CloudCall)
        ):
            self.dies, self.clouds.young = "", True
        elif plan.conditions:
            self.obj = {**self.obj, "status": without_empties(resolve_pending(plan.status, made))}
            self.told = plan.conditions
        known = str((self.obj.get("status") or {}).get("instanceID"))
        if server := self.clouds.things.get(("server", known)):
            self.disks[known] = frozenset(each["uuid"] for each in server.facts["block_device_mapping_v2"])

    async def run(self, times: int) -> None:
        for _ in range(times):
            self.clock.forward(3)
            await self.reconcile()

    def ours(self) -> list[CloudResource]:
        return [thing for thing in self.clouds.all() if thing.type in OURS]

    def there(self) -> list[str]:
        return sorted(f"{thing.type} {thing.name}" for thing in self.ours())

    async def act(self, act: str, number: int) -> None:
        """An action of another client, or a fault."""
        found = self.ours()
        thing = found[number % len(found)] if found else None
        match act:
            # Not of two volumes with one mark, nor their server with them: without the recorded one the other may be a
            # copy, and stays.
            case "remove" if thing and not _takes_one_of_two(thing, found):
                self.clouds.remove(thing.type, thing.id)
            case "leave":  # the server, without its disks
                for server in self.clouds.all("server"):
                    self.clouds.become(server, server.state, block_device_mapping_v2=[])
                    self.clouds.remove("server", server.id)
            # By a request that seemed to fail. Without a response to the other one it could not be distinguished from a
            # copy.
            case "double" if thing and (thing.type == "port" or thing.facts.get("answered")):
                facts = {**thing.facts, "device_id": "", "answered": False}
                twin = replace(thing, id=f"{thing.id}-{number}", facts=facts)
                self.clouds.things[twin.type, twin.id] = twin
            case "change":
                for thing in self.clouds.all("server"):
                    self.clouds.become(thing, ("ERROR", "SHUTOFF", "UNKNOWN")[number % 3], task_state=None)
            case "lose":  # the answer of a request that succeeds
                self.clouds.lose.add(MAKING[number % len(MAKING)])
            case "refuse":
                self.clouds.fail[MAKING[number % len(MAKING)]] = TransientCloudError("Conflict", "HTTP 409")
            case "hide" if thing:
                self.clouds.hidden = thing.id
            case "calm":
                self.calm()
            case "die":
                self.dies = MAKING[number % len(MAKING)]
            case "restart":
                self.clouds.young = True

    def calm(self) -> None:
        self.clouds.hidden, self.clouds.young, self.dies = "", False, ""
        self.clouds.fail.clear()
        self.clouds.lose.clear()
        for thing in self.clouds.all("server"):
            if thing.state not in ("ACTIVE", "BUILD") and not thing.facts.get("task_state"):
                self.clouds.become(thing, "ACTIVE")  # another client starts it


def _takes_one_of_two(thing: CloudResource, found: list[CloudResource]) -> bool:
    """Whether one of two volumes with one mark is deleted with it: a server deletes its disks."""
    goes = {thing.id, *(each["uuid"] for each in thing.facts.get("block_device_mapping_v2") or ())}
    volumes = [each for each in found if each.type == "volume"]
    marks = Counter(each.mark for each in volumes)
    return any(marks[each.mark] > 1 for each in volumes if each.id in goes)


ACTS = st.sampled_from(["die", "lose", "remove", "leave", "double", "change", "refuse", "hide", "restart", "calm"])
TIMES = st.sampled_from([0, 1, 1, 2, 3, 5, 8, 13])
STEPS = st.lists(st.tuples(TIMES, ACTS, st.integers(0, 9)), min_size=1, max_size=8)


async def walked(policy: str, steps: list[tuple[int, str, int]]) -> Walk:
    walk = Walk(policy)
    for times, act, number in steps:
        await walk.run(times)
        await walk.act(act, number)
    walk.calm()
    return walk


async def gone(walk: Walk) -> None:
    assert walk.obj is not None
    walk.obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    before = len(walk.clouds.calls)
    await walk.run(10)
    assert {call.do for call in walk.clouds.calls[before:]} <= {"delete"}
    assert walk.there() == []
    assert walk.obj is None or not walk.obj["metadata"]["finalizers"]


@given(st.sampled_from(["Always", "Never"]), STEPS)
@example("Always", [(20, "restart", 0), (0, "leave", 0), (1, "calm", 0)])  # the next one got its disks
@example("Always", [(20, "hide", 6), (5, "calm", 0)])  # a server that is not listed yet is not lost
@example("Always", [(0, "die", 3)])
@example("Always", [(1, "die", 3), (10, "remove", 4)])  # an unrecorded server had the lost resource
async def test_a_server_is_complete_or_reports_its_loss(policy: str, steps: list[tuple[int, str, int]]) -> None:
    walk = await walked(policy, steps)
    await walk.run(15)
    walk.calm()
    await walk.run(15)
    ready = next(condition for condition in walk.told if condition.type == READY)
    if ready.status:
        assert walk.there() == WHOLE
        (server,) = walk.clouds.all("server")
        assert walk.disks[server.id] == {thing.id for thing in walk.clouds.all("volume")}
    else:
        assert policy == "Never"
        assert ready.reason in ("BlockedInstanceNotFound", "BlockedResourceNotFound"), ready.message
        assert len(walk.clouds.all("server")) <= 1  # other duplicates are deleted after a user's decision
    assert not any(one & other for one, other in itertools.combinations(walk.disks.values(), 2))
    await gone(walk)


@given(st.sampled_from(["Always", "Never"]), STEPS)
@example("Always", [(13, "remove", 0), (0, "remove", 0), (0, "double", 2), (0, "remove", 4)])  # a disk and its server
async def test_a_server_is_deleted_from_any_intermediate_state(policy: str, steps: list[tuple[int, str, int]]) -> None:
    await gone(await walked(policy, steps))
