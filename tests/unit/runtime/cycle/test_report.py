"""What is written to a status, and when nothing is written."""

from dataclasses import replace

import pytest

from stackwright.core.conditions import Condition, blocked, done, needs_user, summary, waiting
from stackwright.core.controller import Controller
from stackwright.core.errors import TerminalError, TransientError, UndeclaredStatus
from stackwright.core.plan import Finalizer, Plan
from stackwright.runtime.cycle.report import after_failure, report, status_of
from stackwright.runtime.memory import FrozenClock, MemoryCluster
from stackwright.services.memcached.kind import Memcached

CONTROLLER = Controller("test", "osdpl", Memcached.KIND, (), None, None)
ANOTHER = replace(CONTROLLER, owns_ready=False)
KEY = ("n", "x")
PROGRESS = ("Ready", "Reconciling", "Stalled")


def plan(*stages, **status):
    return Plan((), (summary(stages), *stages), status)


@pytest.fixture
def cluster():
    made = MemoryCluster(clock=FrozenClock())
    made.put(Memcached.KIND, {"metadata": {"namespace": "n", "name": "x"}, "spec": {}})
    return made


async def write(cluster, wanted, now=0.0):
    return await report(CONTROLLER, wanted, cluster.peek(Memcached.KIND, KEY), cluster, now)


def conditions(cluster):
    return {c["type"]: c for c in cluster.peek(Memcached.KIND, KEY)["status"]["conditions"]}


async def test_an_unchanged_report_writes_nothing(cluster):
    wanted = plan(waiting("A", "for a"), state="WAITING", progress="0/1")
    assert await write(cluster, wanted)
    writes = len(cluster.writes)
    assert not await write(cluster, wanted, now=500.0)
    assert len(cluster.writes) == writes


@pytest.mark.parametrize(
    "changed",
    [
        plan(waiting("A", "for b"), state="WAITING"),
        plan(waiting("A", "for a", "Other"), state="WAITING"),
        plan(done("A"), state="WAITING"),
        plan(waiting("A", "for a"), state="APPLYING"),
        plan(waiting("A", "for a"), done("B"), state="WAITING"),
    ],
)
async def test_a_changed_report_is_written(cluster, changed):
    await write(cluster, plan(waiting("A", "for a"), state="WAITING"))
    assert await write(cluster, changed)


async def test_a_new_generation_is_acknowledged_even_when_all_else_is_the_same(cluster):
    wanted = plan(done("A"))
    await write(cluster, wanted)
    live = cluster.peek(Memcached.KIND, KEY)
    cluster.put(Memcached.KIND, {**live, "spec": {**live["spec"], "size": "tiny"}})
    assert await write(cluster, wanted)
    assert cluster.peek(Memcached.KIND, KEY)["status"]["observedGeneration"] == 2


async def test_the_transition_time_is_that_of_the_status_and_not_of_the_words(cluster):
    await write(cluster, plan(waiting("A", "one")), now=100.0)
    await write(cluster, plan(waiting("A", "two")), now=200.0)
    assert conditions(cluster)["A"]["lastTransitionTime"] == "1970-01-01T00:01:40Z"
    await write(cluster, plan(done("A")), now=300.0)
    assert conditions(cluster)["A"]["lastTransitionTime"] == "1970-01-01T00:05:00Z"


async def test_conditions_of_another_controller_are_kept(cluster):
    await report(
        replace(CONTROLLER, name="node"),
        Plan(conditions=(done("Nodes"),)),
        cluster.peek(Memcached.KIND, KEY),
        cluster,
        0,
    )
    await write(cluster, plan(done("A")))
    assert conditions(cluster).keys() == {"Nodes", *PROGRESS, "A"}
    await write(cluster, plan(waiting("B", "for b")))
    assert conditions(cluster).keys() == {"Nodes", *PROGRESS, "B"}


async def test_empty_fields_that_were_never_written_are_not_worth_a_write(cluster):
    assert status_of(Plan(status={"a": {}, "b": "", "c": []}), {"metadata": {}}, 0) is None
    assert status_of(Plan(status={"a": {}}), {"metadata": {}, "status": {"a": {"x": 1}}}, 0) == {"a": {}}


async def test_events_report_only_transitions_and_new_causes_of_a_block(cluster):
    for stage in (
        waiting("A", "for a"),
        waiting("A", "for b"),
        blocked("A", "Broken", "mend a"),
        blocked("A", "Broken", "mend b"),
        blocked("A", "Other", "mend c"),
        done("A"),
        waiting("A", "for a"),
    ):
        await write(cluster, plan(stage))
    assert [(reason, warning) for _, reason, _, warning in cluster.events] == [
        ("BlockedBroken", True),
        ("BlockedOther", True),
        ("Ready", False),
        ("NotReady", True),
    ]


def test_after_a_failure_ready_has_its_message_and_other_fields_are_kept():
    current = {"metadata": {}, "status": {"state": "WAITING", "other": 1}}
    failed = after_failure(
        CONTROLLER, plan(done("A"), state="APPLIED", release="epoxy"), current, TransientError("the API sleeps")
    )
    assert failed.status == {"state": "WAITING"}
    ready, stage = failed.conditions
    assert ready == Condition("Ready", False, "Waiting", "the API sleeps")
    assert stage.status is False, "the failed action would have made it true"


def test_after_a_refusal_a_human_must_act():
    ready, _ = after_failure(CONTROLLER, plan(done("A")), {"metadata": {}}, TerminalError("no")).conditions
    assert (ready.reason, ready.message, needs_user(ready.reason)) == ("BlockedRefused", "no", True)


def test_a_finished_stage_stays_done_after_a_failure():
    current = {"metadata": {}, "status": {"conditions": [{"type": "A", "status": "True"}]}}
    *_, stage = after_failure(CONTROLLER, plan(done("A")), current, TransientError("x")).conditions
    assert stage.status is True


def test_after_a_failure_observed_conditions_are_reported_unchanged():
    told = after_failure(
        CONTROLLER, plan(done("A", reason="Serving"), done("B")), {"metadata": {}}, TransientError("x")
    ).conditions
    assert [(stage.status, stage.reason) for stage in told[1:]] == [(True, "Serving"), (False, "Waiting")]


def test_a_controller_that_does_not_speak_of_ready_does_not_begin_with_a_failure():
    plan, error = Plan(status={"health": {}}), TransientError("x")
    for controller in (CONTROLLER, ANOTHER):
        assert after_failure(controller, plan, {"metadata": {}}, error).conditions == ()


def test_a_failed_removal_reports_why_it_keeps_the_finalizer():
    removal = Plan((Finalizer(Memcached.KIND, {"metadata": {"name": "x"}}, False),))
    going = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    for controller in (CONTROLLER, replace(ANOTHER, finalizes=True)):
        ready, *_ = after_failure(controller, removal, going, TransientError("helm cannot")).conditions
        assert ready.message == "helm cannot"
    assert after_failure(ANOTHER, removal, going, TransientError("helm cannot")).conditions == ()


class OlderCluster(MemoryCluster):
    """Its CRDs lack a field of the status."""

    async def apply_status(self, kind, obj, manager):
        if "progress" in obj["status"]:
            raise UndeclaredStatus(".status.progress: field not declared in schema", ["progress"])
        return await super().apply_status(kind, obj, manager)


@pytest.mark.parametrize("with_ready", [True, False])
async def test_fields_that_an_older_crd_lacks_are_named_also_without_ready(with_ready):
    cluster = OlderCluster(clock=FrozenClock())
    cluster.put(Memcached.KIND, {"metadata": {"namespace": "n", "name": "x"}, "spec": {}})
    conditions = (summary([waiting("A", "for a")]),) if with_ready else ()
    assert await write(cluster, Plan((), conditions, {"progress": "1/2", "state": "APPLYING"}))
    status = cluster.peek(Memcached.KIND, KEY)["status"]
    assert status["state"] == "APPLYING" and "progress" not in status
    told = [status["conditions"][0]["message"]] if with_ready else [text for *_, text, _ in cluster.events]
    assert "lack the fields progress: apply what `stackwright crds` prints" in told[0]


FAULT = Condition("Ready", False, "InternalError", "a fault")


def former(progressing, reason):
    """The conditions of a version that reported Progressing."""
    rest = {"reason": reason, "message": reason, "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return [{"type": "Ready", "status": "False", **rest}, {"type": "Progressing", "status": progressing, **rest}]


async def write_former(cluster, progressing, reason, manager):
    obj = {"metadata": {"namespace": "n", "name": "x"}, "status": {"conditions": former(progressing, reason)}}
    await cluster.apply_status(Memcached.KIND, obj, manager)


@pytest.mark.parametrize("fault_is_last", [False, True])
async def test_progressing_of_a_former_version_goes_although_both_managers_wrote_it(cluster, fault_is_last):
    """Each manager then owns a part of the condition, and a part without its status is invalid."""
    await write_former(cluster, "True", "Waiting", CONTROLLER.manager)
    await write_former(cluster, "False", "InternalError", CONTROLLER.fault_manager)
    if not fault_is_last:
        await write_former(cluster, "True", "Waiting", CONTROLLER.manager)
    assert await write(cluster, plan(waiting("A", "for a")))
    assert list(conditions(cluster)) == [*PROGRESS, "A"]
    assert await write(cluster, plan(done("A")))
    assert list(conditions(cluster)) == [*PROGRESS, "A"]


async def test_a_fault_is_reported_beside_progressing_of_a_former_version(cluster):
    await write_former(cluster, "True", "Waiting", CONTROLLER.manager)
    await write_former(cluster, "False", "InternalError", CONTROLLER.fault_manager)
    told = Plan(conditions=(FAULT,))
    assert await report(CONTROLLER, told, cluster.peek(Memcached.KIND, KEY), cluster, 0.0, CONTROLLER.fault_manager)
    assert conditions(cluster)["Ready"]["message"] == "a fault"
    assert conditions(cluster)["Reconciling"]["status"] == "True"
    assert await write(cluster, plan(done("A")))
    assert list(conditions(cluster)) == [*PROGRESS, "A"]
