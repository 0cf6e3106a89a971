"""Conditions, and how the worst becomes Ready."""

import pytest

from stackwright.core.conditions import (
    Condition,
    Wait,
    blocked,
    copied,
    done,
    find,
    is_as_before,
    is_ready,
    is_reworded,
    merged,
    summary,
    waiting,
    waiting_for,
    why_not_ready,
    with_progress,
)


def test_when_all_stages_are_done_ready_is_true():
    assert summary([done("A"), done("B")]) == Condition("Ready", True, "Ready", "")


def test_the_first_stage_that_waits_is_mirrored_with_its_own_words():
    ready = summary([done("A"), waiting("B", "for b", "Slow"), waiting("C", "for c")])
    assert ready == Condition("Ready", False, "Slow", "for b")


def test_a_blocked_stage_is_worse_than_any_that_waits():
    ready = summary([waiting("A", "for a"), blocked("B", "Broken", "mend it")])
    assert ready == Condition("Ready", False, "BlockedBroken", "mend it")


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (done("A"), "Ready"),
        (waiting("A", "for a"), "Reconciling"),
        (Condition("A", None, "Slow", "for a"), "Reconciling"),
        (blocked("A", "InvalidValues", "mend it"), "Stalled"),
        (blocked("A", "Refused", "mend it"), "Stalled"),
        (waiting("A", "mend it", "CredentialsInvalid"), "Stalled"),
        (waiting("A", "mend it", "Paused"), "Stalled"),
    ],
)
def test_exactly_one_of_ready_reconciling_and_stalled_is_true(stage, expected):
    ready = summary([stage])
    found = with_progress([ready, stage])
    assert [each.type for each in found] == ["Ready", "Reconciling", "Stalled", "A"]
    (true,) = [each for each in found[:3] if each.status]
    assert (true.type, true.reason, true.message) == (expected, ready.reason, ready.message)
    assert {each.message for each in found[1:3] if not each.status} == {""}


def test_without_ready_nothing_is_added_and_an_earlier_report_is_replaced():
    assert with_progress([done("Nodes")]) == [done("Nodes")]
    before = [Condition("Reconciling", True, "Old"), Condition("Stalled", True, "Old")]
    found = with_progress([*before, summary([])])
    assert [(each.type, each.status) for each in found] == [("Ready", True), ("Reconciling", False), ("Stalled", False)]


def test_a_reason_gets_the_prefix_blocked_once():
    assert blocked("A", "Blocked", "").reason == "Blocked"
    assert blocked("A", "BlockedX", "").reason == blocked("A", "X", "").reason == "BlockedX"


def test_the_transition_time_moves_only_with_the_status():
    (first,) = merged([waiting("A", "one")], [], 1, "t1")
    (second,) = merged([waiting("A", "two", "Other")], [first], 2, "t2")
    (third,) = merged([done("A")], [second], 2, "t3")
    assert (first["lastTransitionTime"], second["lastTransitionTime"], third["lastTransitionTime"]) == (
        "t1",
        "t1",
        "t3",
    )
    assert (second["message"], second["observedGeneration"]) == ("two", 2)


def test_an_unknown_status_is_written_as_unknown():
    (entry,) = merged([Condition("A", None, "R")], [], 1, "t")
    assert entry["status"] == "Unknown"


def obj(status, generation=3, observed=3):
    entry = {"type": "Ready", "status": status, "reason": "R", "message": "m", "observedGeneration": observed}
    return {"metadata": {"generation": generation}, "status": {"conditions": [entry]}}


def test_an_object_is_ready_only_if_ready_is_true_and_about_the_spec_of_now():
    assert is_ready(obj("True"))
    assert not is_ready(obj("False"))
    assert not is_ready(obj("True", generation=4))
    assert not is_ready({"metadata": {"generation": 1}})
    assert not is_ready(None)


def test_a_wait_contains_the_message_of_the_object_or_says_that_it_has_none():
    assert why_not_ready(obj("False")) == "m"
    assert why_not_ready(None) == "it does not exist"
    assert why_not_ready({"metadata": {}}) == "the operator has not processed it yet"


def test_a_condition_is_found_by_type_and_returned_as_a_copy():
    thing = obj("True")
    found = find(thing)
    found["status"] = "False"
    assert is_ready(thing)
    assert find(thing, "Other") is None


def test_a_repeated_report_is_unchanged():
    for status in (True, False, None):
        entry = Condition("A", status, "R", "m").as_dict(1, "t")
        assert copied(entry) == Condition("A", status, "R", "m")
        assert copied(entry, "B") == Condition("B", status, "R", "m")


def test_versions_that_differ_only_in_messages_are_recognised():
    """A reworded message needs no reconcile; an object that looks equal may be a Secret with another value."""
    before = {"metadata": {"name": "a", "resourceVersion": "1"}, "spec": {"x": 1}, "status": obj("False")["status"]}
    (entry,) = before["status"]["conditions"]

    def now(spec=1, name="a", **changes):
        status = {"conditions": [{**entry, **changes}]}
        return {"metadata": {"name": name, "resourceVersion": "2"}, "spec": {"x": spec}, "status": status}

    assert is_reworded(before, now(message="other words"))
    assert not is_reworded(before, now()), "it looks the same"
    assert is_as_before(before, now(status="True"))
    for other in (now(status="True"), now(reason="S"), now(message="n", observedGeneration=4)):
        assert not is_reworded(before, other)
    for other in (now(spec=2, message="n"), now(name="b", message="n")):
        assert not is_as_before(before, other)
        assert not is_reworded(before, other)
    without = {name: value for name, value in before.items() if name != "status"}
    assert not is_reworded(without, without)
    assert not is_reworded(without, before)


def test_the_message_of_a_wait_is_built_from_its_data():
    stage = waiting_for("A", "MariaDB n/x", "it starts", "Starting")
    assert (stage.status, stage.reason, stage.message) == (False, "Starting", "Waiting for MariaDB n/x: it starts")
    assert stage.waits_for == Wait("MariaDB n/x")
    assert waiting_for("A", "port 1", gone=True).message == f"Waiting for {Wait('port 1', gone=True)}"


def test_ready_has_the_waits_of_its_worst_stage():
    ready = summary([done("A"), waiting_for("B", "MariaDB n/x"), waiting("C", "other")])
    assert ready.waits_for == Wait("MariaDB n/x")


def test_waits_of_a_condition_are_not_part_of_the_status():
    stage = waiting_for("A", "MariaDB n/x")
    assert stage == waiting("A", stage.message)
    assert "waits_for" not in stage.as_dict(1, "now")
