"""Slow clouds of users delay only their own namespace. In simulated time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from stackwright.api.infra.server import OpenStackServer
from stackwright.api.meta import Kind
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.catalog import controllers
from stackwright.controllers.infra.managed_resources import Owner
from stackwright.controllers.infra.teardown import plan_removal
from stackwright.core.controller import Controller
from stackwright.core.objects import key_of
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import Done
from stackwright.core.openstack.resources import CloudRef, CloudResource, ProjectView, mark
from stackwright.core.plan import Plan, SetLabel
from stackwright.core.settings import Settings
from stackwright.runtime.cluster.cache import Store
from stackwright.runtime.cycle.cycle import SOON, bounded
from stackwright.runtime.events import Item
from stackwright.runtime.queue import KeyedQueue
from stackwright.runtime.reconcile import OPENSTACK, SHARE, Runtime
from stackwright.services.mariadb.kind import MariaDB

SLOW = 60.0  # seconds for a request, as much as an answer may take
WORKERS = 8
UID = "5b6c1d0e-0000-4000-8000-000000000001"


class Operator:
    """With a remote, an ordinary and an urgent controller, and one that waits for Helm.

    In the namespaces `slow` a look at a cloud takes SLOW, and so does each of `calls` requests after it. `seen` are the
    times at which looks ended, `at_once` the looks at clouds that are going on, `most` how many there have been.
    """

    def __init__(self, *slow: str, calls: int = 1) -> None:
        self.slow, self.calls = slow, calls
        self.seen: dict[Item, list[float]] = {}
        self.at_once: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.queue: KeyedQueue[Item] = KeyedQueue()
        ports = Mock()
        ports.clouds.submit = self._ask
        ports.clock.now = asyncio.get_running_loop().time
        made: tuple[tuple[str, Kind, dict[str, Any]], ...] = (
            ("server", OpenStackServer.KIND, {"remote": True}),
            ("helmbundle", HelmBundle.KIND, {"helm": True}),
            ("cloud", OpenStackDeployment.KIND, {}),
            ("primary", MariaDB.KIND, {"urgent": True}),
        )
        declared = [
            Controller(name, "one", kind, (), partial(self._look, name), self._decide, reports=False, **more)
            for name, kind, more in made
        ]
        self.runtime = Runtime(declared, ports, Mock(), Store(), self.queue)
        self._task = asyncio.create_task(self.runtime.run(WORKERS))

    async def _ask(self, call: CloudCall) -> Done:
        if call.cloud.secret[0] in self.slow:
            await asyncio.sleep(SLOW)
        return Done("id")

    async def _look(self, name: str, _: Any, key: tuple[str, str], __: float) -> Any:
        calls: list[CloudCall] = []
        if name == "helmbundle" and key[0] in self.slow:
            await asyncio.sleep(SLOW)
        if name == "server":
            self.at_once[key[0]] = self.at_once.get(key[0], 0) + 1
            self.most[key[0]] = max(self.most.get(key[0], 0), self.at_once[key[0]])
            call = CloudCall(CloudRef((key[0], "clouds"), "mine"), "create", ("port", "0"), key[1])
            await self._ask(call)
            self.at_once[key[0]] -= 1
            calls = [call] * self.calls
        self.seen.setdefault((name, key), []).append(asyncio.get_running_loop().time())
        return Mock(obj={"metadata": {"namespace": key[0], "name": key[1]}}, calls=calls)

    def _decide(self, seen: Any) -> Plan:
        return Plan(tuple(seen.calls))

    def add(self, namespace: str, count: int = 1, name: str = "server") -> list[Item]:
        items: list[Item] = [(name, (namespace, f"{name}-{n}")) for n in range(count)]
        for item in items:
            self.queue.add(item)
        return items

    def when(self, item: Item) -> float:
        return self.seen.get(item, [float("inf")])[0]

    async def close(self) -> None:
        assert not self._task.done()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


@pytest.mark.looptime
async def test_a_namespace_with_slow_clouds_delays_no_other() -> None:
    operator = Operator("slow", calls=10)
    operator.add("slow", 500)
    await asyncio.sleep(30)
    others = [
        *operator.add("other"), *operator.add("slow", name="cloud"), *operator.add("openstack", 20, name="cloud"),
        *operator.add("openstack", name="primary"),
    ]  # fmt: skip
    await asyncio.sleep(0.01)
    assert max(map(operator.when, others)) < 30.01, "of the same namespace too, what asks no cloud"
    await asyncio.sleep(3600)
    assert operator.most["slow"] == SHARE
    assert len(operator.queue) > 0, "the slow ones wait, and none is forgotten"
    await operator.close()


@pytest.mark.looptime
async def test_a_namespace_with_busy_helm_delays_no_other_and_slow_clouds_do_not_delay_helm() -> None:
    busy = [f"busy-{n}" for n in range(100)]
    operator = Operator("busy", *busy)
    operator.add("busy", 200, name="helmbundle")
    for each in busy:
        operator.add(each, 20)
    await asyncio.sleep(30)
    others = [
        *operator.add("openstack", 20, name="helmbundle"), *operator.add("openstack", 20, name="cloud"),
        *operator.add("openstack", name="primary"),
    ]  # fmt: skip
    await asyncio.sleep(0.01)
    assert max(map(operator.when, others)) < 30.01
    await operator.close()


def test_controllers_that_wait_for_helm_declare_it() -> None:
    assert [each.name for each in controllers(Settings({}, {}), clouds=Mock()) if each.helm] == ["helmbundle"]


@pytest.mark.looptime
async def test_slow_clouds_of_many_namespaces_do_not_delay_other_work() -> None:
    slow = [f"slow-{n}" for n in range(100)]
    operator = Operator(*slow)
    for each in slow:
        operator.add(each, 20)
    await asyncio.sleep(1)
    assert sum(operator.at_once.values()) == OPENSTACK
    others = [*operator.add("openstack", 20, name="cloud"), *operator.add("openstack", name="primary")]
    other = operator.add("other")[0]
    await asyncio.sleep(0.01)
    assert max(map(operator.when, others)) < 1.01
    await asyncio.sleep(4 * SLOW)
    assert operator.when(other) <= 4 * SLOW, "a namespace has its turn after one item of each other one"
    await operator.close()


@pytest.mark.looptime
@pytest.mark.parametrize("count", [8, 16])
async def test_many_namespaces_with_slow_clouds_leave_workers_for_others(count: int) -> None:
    """Eight of them held all workers."""
    slow = [f"slow-{n}" for n in range(count)]
    operator = Operator(*slow)
    for each in slow:
        operator.add(each, 20)
        await asyncio.sleep(1)
    started = asyncio.get_running_loop().time()
    other = operator.add("other")[0]
    await asyncio.sleep(0.01)
    assert operator.when(other) < started + 0.01
    assert operator.most["slow-0"] == SHARE, "while most workers are free"
    assert min(operator.most.values()) >= 1
    await operator.close()


@pytest.mark.looptime
async def test_helm_on_all_workers_delays_no_cloud_of_a_user() -> None:
    operator = Operator()
    held = asyncio.Event()
    course = operator.runtime.reconcile

    async def reconcile(item: Item) -> None:
        await (held.wait() if item[0] == "cloud" else course(item))

    operator.runtime.reconcile = reconcile  # type: ignore[method-assign]
    operator.add("openstack", 2 * WORKERS, name="cloud")
    await asyncio.sleep(1)
    others = operator.add("other", 100)
    await asyncio.sleep(0.01)
    assert max(map(operator.when, others)) < 1.01
    await operator.close()


@pytest.mark.looptime
async def test_a_plan_deletes_a_few_resources_and_the_next_reconcile_the_rest() -> None:
    """The cloud determines how many resources have our mark: 25,000 deletions held a worker until all were done."""
    operator = Operator()
    mine = mark(UID, ("port", "root"))
    there = {f"v{n}": CloudResource("port", f"v{n}", state="DOWN", mark=mine) for n in range(95)}
    rounds: list[int] = []

    def decide(seen: Any) -> Plan:
        rounds.append(len(there))
        found = plan_removal(Owner(CloudRef(("other", "clouds"), "mine"), UID), {}, ProjectView(tuple(there.values())))
        label = SetLabel(OpenStackServer.KIND, key_of(seen.obj), "a", "b")
        return Plan((*found.calls, label), requeue=15.0 if there else None)

    async def ask(call: CloudCall) -> Done:
        there.pop(call.id)
        return Done(call.id)

    operator.runtime.ports.clouds.submit = ask  # type: ignore[method-assign]
    operator.runtime.ports.cluster.patch = AsyncMock()  # type: ignore[method-assign]
    operator.runtime.controllers["server"] = replace(operator.runtime.controllers["server"], decide=decide)
    operator.add("other")
    await asyncio.sleep(9.5 * SOON)
    assert rounds == [95, 85, 75, 65, 55, 45, 35, 25, 15, 5]
    assert operator.runtime.ports.cluster.patch.await_count == 10, "whatever else the plan does is done"
    await asyncio.sleep(15)
    assert rounds[10:] == [0]
    await operator.close()


def test_a_removal_is_followed_by_a_reconcile_soon() -> None:
    cloud = CloudRef(("ns", "clouds"), "mine")
    made, gone = (CloudCall(cloud, do, ("port", "0"), UID) for do in ("create", "delete"))
    assert bounded(Plan((made,), requeue=0.0)).requeue == 0.0
    assert bounded(Plan((gone,), requeue=0.0)).requeue == SOON
    for requeue in (None, 60.0):
        assert bounded(Plan((gone,), requeue=requeue)).requeue == requeue


def test_controllers_that_use_users_clouds_declare_it() -> None:
    clouds = Mock()
    asking = {
        each.name: each.remote
        for each in controllers(Settings({}, {}), clouds=clouds)
        if each.remote or clouds in getattr(each.observe, "args", ())
    }
    assert asking == dict.fromkeys(("server", "capicluster", "floatingippool"), True)
