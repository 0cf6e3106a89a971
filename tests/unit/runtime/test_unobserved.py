"""What the API refuses while an object is observed is reported on the object, once, if it lasts."""

import asyncio
import itertools

import pytest

from stackwright.core.conditions import done
from stackwright.core.errors import (
    Conflict,
    NotServed,
    TerminalError,
    TransientError,
    Unavailable,
    UnmanagedNamespace,
    Unreachable,
)
from stackwright.core.plan import Plan
from stackwright.services.memcached.kind import Memcached
from tests.unit.runtime.test_runtime import KEY, Operator, Seen, controller, plan, put

pytestmark = pytest.mark.looptime
TEXT = "list Cluster: the operator lacks the RBAC permission to list clusters"
REFUSED = TerminalError(TEXT)


class Observing:
    """`errors` are raised one after the other, the last one for ever; None for an observation that succeeds."""

    def __init__(self, *errors):
        self.errors = [*errors]

    async def __call__(self, reader, key, now):
        error = self.errors.pop(0) if len(self.errors) > 1 else self.errors[0]
        if error is not None:
            raise error
        obj = await reader.get(Memcached.KIND, key)
        return None if obj is None else Seen(obj)


def watching(*errors, **more):
    operator = Operator(controller(observe=Observing(*errors), decide=lambda seen: plan(), **more))
    put(operator)
    return operator


async def reconciled(operator, times, every=2.0):
    for _ in range(times):
        await operator.runtime.reconcile(("test", KEY))
        await asyncio.sleep(every)


def verbs(operator):
    return [write.verb for write in operator.cluster.writes]


@pytest.mark.parametrize(
    ("error", "reason", "stalled"),
    [
        (REFUSED, "BlockedRefused", "True"),
        (TransientError(TEXT), "Waiting", "False"),
        (NotServed(TEXT), "KindMissing", "False"),
        (Conflict(TEXT, Memcached.KIND, KEY), "Waiting", "False"),
    ],
)
async def test_what_is_refused_for_long_is_in_ready_and_written_once(error, reason, stalled):
    operator = watching(error)
    await operator.run(10)
    assert operator.condition() is None, "it may pass by itself, as while an API server starts"
    await operator.run(600)
    ready = operator.condition()
    assert (ready["status"], ready["reason"], ready["message"]) == ("False", reason, TEXT)
    assert operator.condition(type_="Stalled")["status"] == stalled
    assert verbs(operator).count("apply_status") == 1
    assert len(operator.runs) <= 2 * 17, "0.5 s, doubled up to a minute, in both runs"


async def test_a_namespace_that_is_not_managed_is_in_ready_at_once():
    """No request was refused, which may pass; the operator itself knows."""
    operator = watching(UnmanagedNamespace(TEXT))
    await operator.run(0.1)
    ready = operator.condition()
    assert (ready["status"], ready["reason"], ready["message"]) == ("False", "BlockedNamespace", TEXT)
    assert operator.condition(type_="Stalled")["status"] == "True"
    await operator.run(600)
    assert verbs(operator).count("apply_status") == 1


async def test_a_text_with_a_request_id_is_written_once():
    ids = itertools.count(0x10000000)
    operator = watching(*(TransientError(f"{TEXT} (request id: {next(ids):x}-{'0' * 8})") for _ in range(40)))
    await operator.run(600)
    assert operator.condition()["message"] == TEXT
    assert verbs(operator) == ["apply_status"]


async def test_it_replaces_ready_and_nothing_else_and_the_next_success_clears_it():
    observe = Observing(None)

    def decide(seen):
        return Plan((), (*plan().conditions, done("Other")), {"hash": "abc"})

    operator = Operator(controller(observe=observe, decide=decide))
    put(operator)
    await operator.run(1)
    before = operator.cluster.peek(Memcached.KIND, KEY)["status"]
    observe.errors[:] = [REFUSED]
    await reconciled(operator, 10)
    failed = operator.cluster.peek(Memcached.KIND, KEY)["status"]
    assert failed["hash"] == "abc"
    assert operator.condition(type_="Other")["status"] == "True"
    assert operator.condition()["reason"] == "BlockedRefused"
    assert [event[1] for event in operator.cluster.events] == ["Ready", "BlockedRefused"]
    observe.errors[:] = [None]
    await operator.runtime.reconcile(("test", KEY))
    after = operator.cluster.peek(Memcached.KIND, KEY)["status"]
    assert {c["type"]: c["status"] for c in after["conditions"]} == {
        c["type"]: c["status"] for c in before["conditions"]
    }
    assert operator.condition()["reason"] == "Ready"
    assert [each["manager"] for each in _owners_of_ready(operator)] == ["stackwright-test"]


def _owners_of_ready(operator):
    """Whose the value of Ready is that is there now."""
    fields = operator.cluster.peek(Memcached.KIND, KEY)["metadata"].get("managedFields") or ()
    place = 'k:{"type":"Ready"}'
    owned = [
        (each, each["fieldsV1"].get("f:status", {}).get("f:conditions", {}).get(place, {}))
        for each in fields
        if each.get("fieldsV1")
    ]
    return [each for each, ready in owned if "f:message" in ready or "f:status" in ready]


async def test_failures_with_a_success_in_between_are_not_reported():
    operator = watching(*([*[REFUSED] * 5, None] * 6), None)
    await operator.runtime.load()
    await reconciled(operator, 36)
    assert {event[1] for event in operator.cluster.events} == {"Ready"}
    assert verbs(operator).count("apply_status") == 1


@pytest.mark.parametrize("away", [Unreachable("no route"), Unavailable("the Kubernetes API returned 503: away")])
async def test_an_api_server_that_was_away_for_long_may_refuse_for_a_moment(away):
    operator = watching(REFUSED, *[away] * 20, *[REFUSED] * 5, None)
    await operator.runtime.load()
    await reconciled(operator, 26)
    assert verbs(operator) == []


async def test_an_api_server_that_is_away_ends_no_report():
    operator = watching(*[*[REFUSED] * 20, Unavailable("503")] * 5, REFUSED, owns_ready=False)
    await operator.runtime.load()
    await reconciled(operator, 120)
    assert verbs(operator) == ["event"], "told once"


async def test_errors_that_alternate_are_reported_after_minutes():
    """A proxy in front of the API returns 504 or 500."""
    operator = watching(*[Unavailable("the Kubernetes API returned 504"), TransientError("the API returned 500")] * 100)
    await operator.run(240)
    assert verbs(operator) == []
    await operator.run(600)
    assert operator.condition()["reason"] == "Waiting"


async def test_an_event_that_could_not_be_written_is_written_later():
    operator = watching(REFUSED, owns_ready=False)
    event, refused = operator.cluster.event, [True] * 3

    async def failing(*words):
        if refused:
            refused.pop()
            raise TransientError("the API returned 503")
        await event(*words)

    operator.cluster.event = failing
    await operator.run(600)
    assert [each[1:3] for each in operator.cluster.events] == [("Failed", TEXT)]


async def test_a_request_that_alone_finds_the_api_unavailable_is_reported_after_minutes():
    text = "the Kubernetes API returned 504: the list took too long"
    operator = watching(Unavailable(text))
    await operator.run(240)
    assert verbs(operator) == []
    await operator.run(600)
    assert operator.condition()["message"] == text
    assert verbs(operator).count("apply_status") == 1


@pytest.mark.parametrize(("attempts", "told"), [(2, []), (3, ["apply_status"])])
async def test_few_attempts_do_not_prove_that_it_lasts(attempts, told):
    """As of an object that waits long for a worker."""
    operator = watching(*[REFUSED] * attempts, None)
    await operator.runtime.load()
    await reconciled(operator, attempts, 20)
    assert [verb for verb in verbs(operator) if verb != "event"] == told


async def test_however_often_an_object_changes_in_that_moment_it_is_not_reported():
    operator = watching(REFUSED)
    await operator.runtime.load()
    await reconciled(operator, 100, 0.1)
    assert verbs(operator) == []


@pytest.mark.parametrize("more", [{"owns_ready": False}, {"reports": False}])
async def test_where_ready_is_not_the_controllers_it_is_told_by_one_event(more):
    operator = watching(REFUSED, **more)
    await operator.run(600)
    assert operator.condition() is None
    assert [event[1:3] for event in operator.cluster.events] == [("Failed", TEXT)]
    assert verbs(operator) == ["event"]


async def test_it_is_in_ready_of_what_is_being_deleted_if_its_controller_reports_that():
    operator = Operator(controller(observe=Observing(REFUSED), owns_ready=False, finalizes=True))
    meta = {"namespace": "n", "name": "x", "finalizers": ["a/b"]}
    operator.cluster.put(Memcached.KIND, {"metadata": meta, "spec": {}})
    await operator.cluster.delete(Memcached.KIND, KEY)
    await operator.run(60)
    assert operator.condition()["message"] == TEXT


async def test_a_status_that_is_refused_is_told_as_what_is_refused_to_the_observation():
    operator = watching(None)
    write = operator.cluster.apply_status

    async def apply_status(kind, obj, manager):
        if manager == "stackwright-test":
            raise TerminalError("status.progress: Invalid value")
        return await write(kind, obj, manager)

    operator.cluster.apply_status = apply_status
    await operator.run(60)
    ready = operator.condition()
    assert (ready["reason"], ready["message"]) == ("BlockedRefused", "status.progress: Invalid value")


async def test_a_refusal_that_cannot_be_written_is_written_later():
    operator = watching(REFUSED)
    write, refused = operator.cluster.apply_status, []

    async def apply_status(kind, obj, manager):
        if len(refused) < 2:
            refused.append(manager)
            raise TransientError("the API returned 503")
        return await write(kind, obj, manager)

    operator.cluster.apply_status = apply_status
    await operator.run(300)
    assert operator.condition()["message"] == TEXT
