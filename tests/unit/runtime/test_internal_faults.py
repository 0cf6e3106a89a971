"""Internal errors are reported in conditions, without values, and stop no worker, watch or resync."""

import asyncio
import json

import pytest
import structlog

from stackwright.api.kinds import POD
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.catalog import controllers
from stackwright.core.conditions import done
from stackwright.core.controller import Watch
from stackwright.core.errors import Conflict, place
from stackwright.core.helm import merge
from stackwright.core.plan import Plan
from stackwright.core.settings import Settings
from stackwright.services.keystone.kind import Keystone
from stackwright.services.memcached.kind import Memcached
from tests.unit.runtime.test_runtime import KEY, Operator, controller, plan, put

pytestmark = pytest.mark.looptime
SECRET_TEXT = "hunter2-of-a-user"


class Panic(BaseException):
    """As those of libraries in Rust."""


def raising(error=None):
    def fail(seen):
        raise error or ValueError(SECRET_TEXT)

    return fail


async def observe_raises(reader, key, now):
    raise KeyError(SECRET_TEXT)


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"decide": raising()}, "ValueError"),
        ({"observe": observe_raises}, "KeyError"),
        ({"decide": raising(SystemExit(SECRET_TEXT))}, "SystemExit"),
        ({"decide": raising(Panic(SECRET_TEXT))}, "Panic"),
        ({"decide": raising(asyncio.CancelledError(SECRET_TEXT))}, "CancelledError"),
    ],
)
async def test_an_exception_in_observe_or_decide_becomes_a_condition_without_its_text(more, name):
    operator = Operator(controller(**more))
    put(operator)
    with structlog.testing.capture_logs() as logs:
        await operator.run(60)
    ready = operator.condition()
    assert (ready["status"], ready["reason"]) == ("False", "InternalError")
    assert f": {name} at runtime/cycle/cycle.py:" in ready["message"]
    assert "stackwright report" in ready["message"]
    assert operator.condition(type_="Reconciling")["status"] == "True", "it is tried again"
    assert SECRET_TEXT not in json.dumps([operator.cluster.all(Memcached.KIND), logs], default=str)
    assert [entry for entry in logs if entry["event"] == "internal error" and name in entry["fault"]]
    assert 4 <= len(operator.runs) <= 9, "tried again with backoff"
    assert [write.verb for write in operator.cluster.writes] == ["apply_status"]


async def test_the_place_is_the_innermost_one_in_our_code():
    def decide(seen):
        return merge.merge({"a": {"b": 1}}, Weird())

    class Weird(dict):
        def items(self):
            raise TypeError(SECRET_TEXT)

    operator = Operator(controller(decide=decide))
    put(operator)
    await operator.run(1)
    assert "TypeError at core/helm/merge.py:" in operator.condition()["message"]


async def test_other_status_is_kept_and_the_next_success_clears_the_error():
    broken = []

    def decide(seen):
        if broken:
            raise ValueError
        made = plan()
        return Plan((), (*made.conditions, done("Other")), {"hash": "abc"})

    operator = Operator(controller(decide=decide))
    put(operator)
    await operator.run(1)
    before = operator.cluster.peek(Memcached.KIND, KEY)["status"]
    broken.append(True)
    await operator.runtime.reconcile(("test", KEY))
    failed = operator.cluster.peek(Memcached.KIND, KEY)["status"]
    assert failed["hash"] == "abc"
    assert [c["type"] for c in failed["conditions"]] == [c["type"] for c in before["conditions"]]
    assert operator.condition()["reason"] == "InternalError"
    assert operator.condition(type_="Other")["status"] == "True"
    broken.clear()
    await operator.runtime.reconcile(("test", KEY))
    after = operator.cluster.peek(Memcached.KIND, KEY)["status"]
    assert {c["type"]: c["status"] for c in after["conditions"]} == {
        c["type"]: c["status"] for c in before["conditions"]
    }
    assert operator.condition()["reason"] == "Ready"


@pytest.mark.parametrize("more", [{"owns_ready": False}, {"reports": False}])
async def test_a_controller_without_ready_reports_a_fault_by_an_event(more):
    operator = Operator(controller(decide=raising(), **more))
    put(operator)
    await operator.run(3)
    assert operator.condition() is None
    reason, message = operator.cluster.events[0][1:3]
    assert reason == "InternalError"
    assert "ValueError" in message and SECRET_TEXT not in message


def test_exactly_one_controller_owns_ready_of_each_kind():
    owners = {}
    for each in controllers(Settings({}, {})):
        owners.setdefault(each.kind, []).append(each.name if each.reports and each.owns_ready else "")
    assert {kind.kind: len([name for name in names if name]) for kind, names in owners.items()} == {
        kind.kind: 1 for kind in owners
    }
    assert [name for name in owners[OpenStackDeployment.KIND] if name] == ["cloud"]


async def test_a_deleted_object_gets_no_report():
    operator = Operator(controller(observe=observe_raises))
    await operator.runtime.reconcile(("test", KEY))
    assert not operator.cluster.writes and not operator.cluster.events


async def test_a_fault_that_cannot_be_reported_ends_no_worker():
    operator = Operator(controller(decide=raising()))
    put(operator)

    async def apply_status(kind, obj, manager):
        raise RuntimeError(SECRET_TEXT)

    operator.cluster.apply_status = apply_status
    await operator.run(5)  # fails if the runtime has ended


@pytest.mark.parametrize("error", [RuntimeError(SECRET_TEXT), Conflict("twice", Memcached.KIND, KEY), Panic()])
async def test_an_exception_while_looking_again_after_a_conflict_ends_no_worker(error):
    def conflict(seen):
        raise Conflict("changed", Memcached.KIND, KEY)

    operator = Operator(controller(decide=conflict))
    put(operator)
    get = operator.cluster.get

    async def broken(kind, key):
        if operator.runs:
            raise error
        return await get(kind, key)

    operator.cluster.get = broken
    await operator.run(5)
    assert len(operator.runs) > 2


async def test_a_failed_mapping_of_a_change_queues_all_objects():
    looked = []

    def keys(obj, lookup):
        raise AttributeError(SECRET_TEXT)

    def decide(seen):
        looked.append(seen.obj["metadata"]["name"])
        return Plan()

    watching = controller(watches=[Watch(POD, keys)], decide=decide)
    other = controller("other", Keystone.KIND, [Watch(POD, lambda obj, lookup: [KEY])])
    operator = Operator(watching, other)
    put(operator)
    put(operator, Keystone.KIND)
    await operator.run(1)
    looked.clear()
    running = asyncio.create_task(operator.run(2))
    await asyncio.sleep(1)
    operator.runs.clear()
    with structlog.testing.capture_logs() as logs:
        operator.cluster.put(POD, {"metadata": {"namespace": "n", "name": "p"}})
        await asyncio.sleep(0.1)
    assert looked == ["x"]
    assert ("other", KEY) in operator.runs
    assert SECRET_TEXT not in str(logs) and "AttributeError" in str(logs)
    await running


async def test_a_meaningless_event_ends_no_watch():
    operator = Operator(controller())
    with structlog.testing.capture_logs() as logs:
        operator.runtime.on_event(False, Memcached.KIND, {"metadata": {"name": "x", "resourceVersion": "not-a-number"}})
        operator.runtime.on_event(False, Memcached.KIND, {})
    assert [entry["event"] for entry in logs] == ["internal error"] * 2


async def test_a_failed_resync_of_one_kind_continues_with_others_and_is_repeated():
    operator = Operator(controller(), controller("other", Keystone.KIND))
    task = asyncio.create_task(operator.runtime.run(workers=1, resync=5))
    lists = operator.cluster.list

    async def broken(kind, *more):
        if kind == Memcached.KIND:
            raise RuntimeError(SECRET_TEXT)
        return await lists(kind, *more)

    operator.cluster.list = broken
    operator.deaf = True
    put(operator, Keystone.KIND)
    await asyncio.sleep(6)
    assert ("other", KEY) in operator.runs
    operator.cluster.list = lists
    put(operator)
    await asyncio.sleep(6)
    assert ("test", KEY) in operator.runs
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_a_library_failure_is_reported_by_the_original_exception():
    try:
        try:
            raise SystemExit(SECRET_TEXT)
        except BaseException as error:
            raise RuntimeError(SECRET_TEXT) from error
    except RuntimeError as error:
        assert place(error) == "SystemExit"
