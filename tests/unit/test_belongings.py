"""The course that everything takes which an object has in an OpenStack."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.controllers.infra.managed_resources import (
    DesiredResource,
    Owner,
    listed,
    plan_next,
    plan_removal,
    remove,
    unlisted,
)
from stackwright.core.openstack.calls import PendingId, resolve_pending
from stackwright.core.openstack.resource_types import TYPES, deletion_order
from stackwright.core.openstack.resources import (
    ANSWERED,
    CREATED,
    CloudRef,
    CloudResource,
    ProjectView,
    ResourceKey,
    mark,
)

UID = "5b6c1d0e-0000-4000-8000-000000000001"
OTHER = "5b6c1d0e-0000-4000-8000-000000000002"
OWNER = Owner(CloudRef(("ns", "secret"), "cloud"), UID)
PORT: ResourceKey = ("port", "web-0")
DISK: ResourceKey = ("volume", "root")
SERVER: ResourceKey = ("server", "")


def thing(slot: ResourceKey, id_: str, state: str = "", uid: str = UID, **facts: Any) -> CloudResource:
    return CloudResource(slot[0], id_, slot[1], state, mark(uid, slot), facts)


def parts(*slots: ResourceKey) -> list[DesiredResource]:
    return [DesiredResource(slot, lambda ids, slot=slot: {"of": slot[1], "ids": dict(ids)}) for slot in slots]  # type: ignore[misc]


def test_one_thing_at_a_time_is_made_and_its_id_is_a_part_of_the_record() -> None:
    found = plan_next(OWNER, parts(PORT, SERVER), {}, ProjectView())
    (call,) = found.calls
    assert (call.do, call.slot) == ("create", PORT)
    assert found.record == {PORT: PendingId(PORT)}
    assert resolve_pending(dict(found.record), {PORT: "p1"}) == {PORT: "p1"}


def test_what_comes_later_is_made_of_the_ids_before() -> None:
    found = plan_next(OWNER, parts(PORT, SERVER), {PORT: "p1"}, ProjectView((thing(PORT, "p1"),)))
    assert found.calls[0].body["ids"] == {PORT: "p1"}


def test_what_a_predecessor_made_is_found_by_its_mark_and_not_made_again() -> None:
    found = plan_next(OWNER, parts(PORT), {}, ProjectView((thing(PORT, "p1"),)))
    assert (found.calls, found.record, found.whole) == ((), {PORT: "p1"}, True)


def test_a_thing_of_another_object_is_not_ours_whatever_its_name() -> None:
    found = plan_next(
        OWNER, parts(PORT), {}, ProjectView((thing(PORT, "p1", uid=OTHER), CloudResource("port", "p2", "web-0")))
    )
    assert found.calls[0].do == "create"


def test_nothing_is_made_while_an_earlier_request_may_be_on_its_way() -> None:
    found = plan_next(OWNER, parts(PORT), {}, ProjectView(settled=False))
    assert found.calls == ()
    assert found.wait


def test_what_was_made_twice_goes() -> None:
    found = plan_next(OWNER, parts(PORT), {PORT: "p1"}, ProjectView((thing(PORT, "p1"), thing(PORT, "p2"))))
    assert [(call.do, call.id) for call in found.calls] == [("delete", "p2")]


def test_what_is_lost_is_told_and_not_silently_made_again() -> None:
    found = plan_next(OWNER, parts(PORT, SERVER), {PORT: "p1", SERVER: "s1"}, ProjectView((thing(PORT, "p1"),)))
    assert found.lost == (SERVER,)
    assert found.calls == ()


def test_a_soft_deleted_server_is_lost() -> None:
    look = ProjectView((thing(SERVER, "s1", "SOFT_DELETED"),))
    assert plan_next(OWNER, parts(SERVER), {SERVER: "s1"}, look).lost == (SERVER,)


def test_a_part_waits_for_what_is_before_it() -> None:
    (disk, server) = parts(DISK, SERVER)
    waiting = DesiredResource(server.slot, server.body, lambda things: f"volume is {things[DISK].state}")
    found = plan_next(OWNER, [disk, waiting], {DISK: "v1"}, ProjectView((thing(DISK, "v1", "creating"),)))
    assert (found.calls, found.wait) == ((), "volume is creating")


def test_what_is_no_part_any_more_goes_and_is_not_missed() -> None:
    record = {PORT: "p1", SERVER: "s1"}
    found = plan_next(OWNER, parts(PORT), record, ProjectView((thing(PORT, "p1"), thing(SERVER, "s1"))))
    assert [(call.do, call.id) for call in found.calls] == [("delete", "s1")]
    assert found.record == record, "until it is gone"
    found = plan_next(OWNER, parts(PORT), record, ProjectView((thing(PORT, "p1"),)))
    assert (found.record, found.whole) == ({PORT: "p1"}, True)


def test_removal_goes_by_record_and_marks_and_what_holds_others_goes_first() -> None:
    look = ProjectView((thing(PORT, "p1"), thing(DISK, "v1"), thing(SERVER, "s1", "ACTIVE")))
    record = {PORT: "p1", SERVER: "s1"}
    found = plan_removal(OWNER, record, look)
    assert [(call.do, call.id) for call in found.calls] == [("delete", "s1")]
    found = plan_removal(OWNER, record, ProjectView((thing(PORT, "p1"), thing(DISK, "v1"))))
    assert [call.id for call in found.calls] == ["p1"]
    assert found.record == {PORT: "p1"}
    assert [call.id for call in plan_removal(OWNER, {}, ProjectView((thing(DISK, "v1"),))).calls] == ["v1"]
    assert plan_removal(OWNER, record, ProjectView()).whole


def test_what_is_only_looked_at_is_not_taken_away() -> None:
    address = CloudResource("floating-ip", "users")
    assert plan_removal(OWNER, {}, ProjectView((address,))).whole
    (call,) = plan_removal(OWNER, {("floating-ip", "api"): "users"}, ProjectView((address,))).calls
    assert call.id == "users"


def test_what_was_made_last_goes_first_when_it_is_no_part_any_more() -> None:
    group, rule = ("security-group", "b"), ("security-group-rule", "b-1")
    record = {group: "g", rule: "r"}
    found = plan_next(OWNER, [], record, ProjectView((thing(group, "g"), thing(rule, "r"))))  # type: ignore[arg-type]
    assert [call.id for call in found.calls] == ["r", "g"]


def test_a_record_in_a_status_and_back() -> None:
    record = {PORT: "p1", DISK: "v1"}
    assert unlisted(listed(record)) == record
    assert unlisted(None) == {}


def test_what_is_going_is_not_told_to_go_again() -> None:
    look = ProjectView((thing(SERVER, "s1", "ACTIVE", task_state="deleting"), thing(PORT, "p1")))
    found = plan_removal(OWNER, {SERVER: "s1"}, look)
    assert found.calls == ()
    assert not found.whole


@pytest.mark.parametrize("state", ["deleting", "SOFT-DELETING", "soft-deleting"])
def test_whatever_says_that_it_goes_is_not_told_again(state: str) -> None:
    by_task = thing(SERVER, "s1", "ACTIVE", task_state=state)
    by_state = thing(SERVER, "s1", state)
    assert [remove(OWNER, SERVER, each) for each in (by_task, by_state)] == [None, None]
    assert plan_removal(OWNER, {SERVER: "s1"}, ProjectView((by_task,))).wait == "Waiting for server s1 to be deleted"


def test_what_was_not_looked_at_is_not_lost() -> None:
    record = {PORT: "p1", SERVER: "s1"}
    look = ProjectView((thing(SERVER, "s1"),), unseen=frozenset({"port"}))
    found = plan_next(OWNER, parts(PORT, SERVER), record, look)
    assert (found.lost, found.calls, found.record, found.whole) == ((), (), record, True)


def test_what_is_no_part_any_more_is_forgotten_only_when_nothing_is_on_its_way() -> None:
    record = {PORT: "p1", SERVER: "s1"}
    found = plan_next(OWNER, parts(PORT), record, ProjectView((thing(PORT, "p1"),), settled=False))
    assert (found.record, found.whole) == (record, False)


@pytest.mark.parametrize("look", [ProjectView(settled=False), ProjectView(unseen=frozenset({"volume"}))])
def test_what_may_be_there_still_is_not_told_as_lost(look: ProjectView) -> None:
    found = plan_next(OWNER, parts(PORT), {PORT: "p1"}, look)
    assert (found.lost, found.calls, found.wait) == ((), (), "Checking that no resource is missing")


@pytest.mark.parametrize("state", TYPES["server"].gone)
def test_a_twin_that_is_gone_is_not_taken_away_again(state: str) -> None:
    look = ProjectView((thing(SERVER, "s1", "ACTIVE"), thing(SERVER, "s2", state)))
    found = plan_next(OWNER, parts(SERVER), {SERVER: "s1"}, look)
    assert (found.calls, found.whole) == ((), True)


@pytest.mark.parametrize("state", TYPES["server"].gone)
def test_what_is_no_server_is_there_as_long_as_it_is_listed(state: str) -> None:
    """A cloud that says so of each port that is made would have them made without end."""
    look = ProjectView((thing(PORT, "p1", state),))
    assert plan_next(OWNER, parts(PORT), {PORT: "p1"}, look).whole
    assert [call.id for call in plan_removal(OWNER, {PORT: "p1"}, look).calls] == ["p1"]


def test_nothing_is_believed_to_be_gone_before_the_look_is_settled() -> None:
    assert not plan_removal(OWNER, {PORT: "p1"}, ProjectView(settled=False)).whole


slots = st.tuples(st.sampled_from(deletion_order()), st.sampled_from(["a", "b"]))
states = st.sampled_from(["", "ACTIVE", "ERROR", "DELETED", "SOFT_DELETED", "available", "deleting", "odd"])
look_of = st.builds(
    lambda found, settled: ProjectView(tuple({(t.what, t.id): t for t in found}.values()), settled),
    st.lists(st.builds(thing, slots, st.sampled_from(["1", "2", "3"]), states, st.sampled_from([UID, OTHER]))),
    st.booleans(),
)
records = st.dictionaries(slots, st.sampled_from(["1", "2", "3"]), max_size=4)


@given(records, look_of)
def test_removal_never_makes_anything_and_ends(record: dict[ResourceKey, str], look: ProjectView) -> None:
    found = plan_removal(OWNER, record, look)
    assert all(call.do == "delete" for call in found.calls)
    if found.whole:
        assert look.settled


@given(st.lists(slots, unique=True, max_size=4), records, look_of)
def test_a_step_makes_one_thing_at_most_and_only_what_is_not_there(
    wanted: list[ResourceKey], record: dict[ResourceKey, str], look: ProjectView
) -> None:
    found = plan_next(OWNER, parts(*wanted), record, look)
    made = [call for call in found.calls if call.do == "create"]
    assert len(made) <= 1
    for call in made:
        assert call.slot not in record
        assert not [t for t in look.marked(UID, call.slot) if t.state not in ("DELETED", "SOFT_DELETED")]
        assert look.settled


def disk(id_: str, made: float | None, answered: bool = True, **facts: Any) -> CloudResource:
    return thing(DISK, id_, "available", **{CREATED: made, ANSWERED: answered, **facts})


@pytest.mark.parametrize("made", [700.0, 1300.0])
def test_a_volume_that_was_made_twice_goes(made: float) -> None:
    look = ProjectView((disk("v1", 1000.0), disk("v2", made, answered=False)))
    for found in (plan_next(OWNER, parts(DISK), {DISK: "v1"}, look), plan_removal(OWNER, {DISK: "v1"}, look)):
        assert [(call.do, call.id, call.why) for call in found.calls] == [("delete", "v2", "duplicate")]
    assert found.record == {DISK: "v1"}, "what it is known by lasts as long"


COPIES = pytest.mark.parametrize(
    ("ours", "copy"),
    [
        (disk("v1", 1000.0), disk("v2", 1301.0)),
        (disk("v1", 1000.0), disk("v2", 1001.0, attachments=[{"server_id": "s2"}])),
        (disk("v1", 1000.0), disk("v2", None)),
        (disk("v1", None), disk("v2", 1000.0)),
        (None, disk("v2", 1000.0)),
        (disk("v1", 1000.0, answered=False), disk("v2", 1100.0, answered=False)),
    ],
)


@COPIES
def test_a_volume_that_somebody_made_of_ours_is_not_taken_for_one_that_was_made_twice(
    ours: CloudResource | None, copy: CloudResource
) -> None:
    """The mark comes along with its backup, say; when ours is lost it may be all that there is."""
    found = plan_next(OWNER, parts(DISK), {DISK: "v1"}, ProjectView((*filter(None, [ours]), copy)))
    assert (found.calls, found.record) == ((), {DISK: "v1"})
    assert found.lost == (() if ours else (DISK,))


@COPIES
def test_a_volume_that_somebody_made_of_ours_outlives_it_and_is_told(
    ours: CloudResource | None, copy: CloudResource
) -> None:
    record, gone = {DISK: "v1"}, []
    things = [*filter(None, [ours]), copy]
    while not (found := plan_removal(OWNER, record, ProjectView(tuple(things)))).whole:
        gone += [call.id for call in found.calls]
        things = [each for each in things if each.id not in gone]
        record = dict(found.record)
    assert gone == (["v1"] if ours else [])
    assert found.copies == (copy,)


def test_of_volumes_with_one_mark_the_oldest_is_taken_over() -> None:
    """Of those whose request was answered: they are no copies."""
    look = ProjectView((disk("v1", None), disk("v2", 2000.0), disk("v3", 1000.0), disk("v4", 10.0, answered=False)))
    found = plan_next(OWNER, parts(DISK), {}, look)
    assert found.record == {DISK: "v3"}
    assert plan_next(OWNER, parts(DISK), found.record, look).calls == ()


def test_of_volumes_with_one_mark_none_is_taken_over_or_deleted_if_none_is_surely_ours() -> None:
    """One of them may be older than ours, and somebody's."""
    both = disk("ours", 9000.0, answered=False), disk("users", 1000.0, answered=False)
    found = plan_next(OWNER, parts(DISK, SERVER), {}, ProjectView(both))
    assert (found.calls, found.record, found.ambiguous, found.copies) == ((), {}, both[::-1], ())
    assert not found.whole
    assert (
        found.wait
        == "Several volumes have the mark of this server, and which one belongs to it is unknown: users, ours"
    )


@pytest.mark.parametrize("answered", [True, False])
def test_without_a_record_no_volume_goes_that_is_not_the_only_one_of_its_mark(answered: bool) -> None:
    both = disk("v1", 1000.0, answered=answered), disk("v2", 9000.0, answered=False)
    found = plan_removal(OWNER, {}, ProjectView((*both, thing(PORT, "p1"))))
    assert [call.id for call in found.calls] == ["p1"]
    found = plan_removal(OWNER, {}, ProjectView(both))
    assert (found.calls, found.whole, found.copies, found.ambiguous) == ((), True, both, ())
    assert [call.id for call in plan_removal(OWNER, {}, ProjectView(both[:1])).calls] == ["v1"], (
        "made when a process died"
    )


def test_what_two_slots_have_stays_as_long_as_one_is_a_part() -> None:
    """Neutron answers a rule that says the same as another with that one."""
    one: ResourceKey = ("security-group-rule", "one")
    other: ResourceKey = ("security-group-rule", "other")
    look = ProjectView((CloudResource("security-group-rule", "r1"),))
    found = plan_next(OWNER, parts(other), {one: "r1", other: "r1"}, look)
    assert (found.record, found.calls) == ({other: "r1"}, ())
    assert [call.id for call in plan_next(OWNER, [], found.record, look).calls] == ["r1"]


def test_a_copy_of_a_volume_that_is_no_part_any_more_is_kept_when_that_is_gone() -> None:
    copy = disk("copy", 9000.0, answered=False)
    found = plan_next(OWNER, [], {DISK: "v1"}, ProjectView((disk("v1", 1000.0), copy)))
    assert [call.id for call in found.calls] == ["v1"]
    found = plan_next(OWNER, [], found.record, ProjectView((copy,)))
    assert (found.whole, found.calls) == (True, ())
    found = plan_removal(OWNER, dict(found.record), ProjectView((copy,)))
    assert (found.whole, found.calls, found.copies) == (True, (), (copy,))


def test_a_step_takes_a_moment_however_much_has_its_mark() -> None:
    slots: list[ResourceKey] = [("floating-ip", str(number)) for number in range(5_000)]
    look = ProjectView(tuple(thing(slot, f"id-{slot[1]}") for slot in slots))
    record = {slot: f"id-{slot[1]}" for slot in slots}
    began = time.process_time()
    for known in ({}, record):
        assert plan_next(OWNER, parts(*slots), known, look).record == record
        assert plan_removal(OWNER, known, look).calls
    assert time.process_time() - began < 2, "seconds"
