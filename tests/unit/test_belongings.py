"""The course that everything takes which an object has in an OpenStack."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.controllers.infra.managed_resources import (
    Owner,
    Part,
    listed,
    removal,
    remove,
    step,
    unlisted,
)
from stackwright.core.openstack.clouds import ANSWERED, CREATED, CloudRef, Look, Made, Slot, Thing, fill, mark
from stackwright.core.openstack.resource_types import TYPES, deletion_order

UID = "5b6c1d0e-0000-4000-8000-000000000001"
OTHER = "5b6c1d0e-0000-4000-8000-000000000002"
OWNER = Owner(CloudRef(("ns", "secret"), "cloud"), UID)
PORT: Slot = ("port", "web-0")
DISK: Slot = ("volume", "root")
SERVER: Slot = ("server", "")


def thing(slot: Slot, id_: str, state: str = "", uid: str = UID, **facts: Any) -> Thing:
    return Thing(slot[0], id_, slot[1], state, mark(uid, slot), facts)


def parts(*slots: Slot) -> list[Part]:
    return [Part(slot, lambda ids, slot=slot: {"of": slot[1], "ids": dict(ids)}) for slot in slots]  # type: ignore[misc]


def test_one_thing_at_a_time_is_made_and_its_id_is_a_part_of_the_record() -> None:
    found = step(OWNER, parts(PORT, SERVER), {}, Look())
    (call,) = found.calls
    assert (call.do, call.slot) == ("create", PORT)
    assert found.record == {PORT: Made(PORT)}
    assert fill(dict(found.record), {PORT: "p1"}) == {PORT: "p1"}


def test_what_comes_later_is_made_of_the_ids_before() -> None:
    found = step(OWNER, parts(PORT, SERVER), {PORT: "p1"}, Look((thing(PORT, "p1"),)))
    assert found.calls[0].body["ids"] == {PORT: "p1"}


def test_what_a_predecessor_made_is_found_by_its_mark_and_not_made_again() -> None:
    found = step(OWNER, parts(PORT), {}, Look((thing(PORT, "p1"),)))
    assert (found.calls, found.record, found.whole) == ((), {PORT: "p1"}, True)


def test_a_thing_of_another_object_is_not_ours_whatever_its_name() -> None:
    found = step(OWNER, parts(PORT), {}, Look((thing(PORT, "p1", uid=OTHER), Thing("port", "p2", "web-0"))))
    assert found.calls[0].do == "create"


def test_nothing_is_made_while_an_earlier_request_may_be_on_its_way() -> None:
    found = step(OWNER, parts(PORT), {}, Look(settled=False))
    assert found.calls == ()
    assert found.wait


def test_what_was_made_twice_goes() -> None:
    found = step(OWNER, parts(PORT), {PORT: "p1"}, Look((thing(PORT, "p1"), thing(PORT, "p2"))))
    assert [(call.do, call.id) for call in found.calls] == [("delete", "p2")]


def test_what_is_lost_is_told_and_not_silently_made_again() -> None:
    found = step(OWNER, parts(PORT, SERVER), {PORT: "p1", SERVER: "s1"}, Look((thing(PORT, "p1"),)))
    assert found.lost == (SERVER,)
    assert found.calls == ()


def test_a_soft_deleted_server_is_lost() -> None:
    look = Look((thing(SERVER, "s1", "SOFT_DELETED"),))
    assert step(OWNER, parts(SERVER), {SERVER: "s1"}, look).lost == (SERVER,)


def test_a_part_waits_for_what_is_before_it() -> None:
    (disk, server) = parts(DISK, SERVER)
    waiting = Part(server.slot, server.body, lambda things: f"volume is {things[DISK].state}")
    found = step(OWNER, [disk, waiting], {DISK: "v1"}, Look((thing(DISK, "v1", "creating"),)))
    assert (found.calls, found.wait) == ((), "volume is creating")


def test_what_is_no_part_any_more_goes_and_is_not_missed() -> None:
    record = {PORT: "p1", SERVER: "s1"}
    found = step(OWNER, parts(PORT), record, Look((thing(PORT, "p1"), thing(SERVER, "s1"))))
    assert [(call.do, call.id) for call in found.calls] == [("delete", "s1")]
    assert found.record == record, "until it is gone"
    found = step(OWNER, parts(PORT), record, Look((thing(PORT, "p1"),)))
    assert (found.record, found.whole) == ({PORT: "p1"}, True)


def test_removal_goes_by_record_and_marks_and_what_holds_others_goes_first() -> None:
    look = Look((thing(PORT, "p1"), thing(DISK, "v1"), thing(SERVER, "s1", "ACTIVE")))
    record = {PORT: "p1", SERVER: "s1"}
    found = removal(OWNER, record, look)
    assert [(call.do, call.id) for call in found.calls] == [("delete", "s1")]
    found = removal(OWNER, record, Look((thing(PORT, "p1"), thing(DISK, "v1"))))
    assert [call.id for call in found.calls] == ["p1"]
    assert found.record == {PORT: "p1"}
    assert [call.id for call in removal(OWNER, {}, Look((thing(DISK, "v1"),))).calls] == ["v1"]
    assert removal(OWNER, record, Look()).whole


def test_what_is_only_looked_at_is_not_taken_away() -> None:
    address = Thing("floating-ip", "users")
    assert removal(OWNER, {}, Look((address,))).whole
    (call,) = removal(OWNER, {("floating-ip", "api"): "users"}, Look((address,))).calls
    assert call.id == "users"


def test_what_was_made_last_goes_first_when_it_is_no_part_any_more() -> None:
    group, rule = ("security-group", "b"), ("security-group-rule", "b-1")
    record = {group: "g", rule: "r"}
    found = step(OWNER, [], record, Look((thing(group, "g"), thing(rule, "r"))))  # type: ignore[arg-type]
    assert [call.id for call in found.calls] == ["r", "g"]


def test_a_record_in_a_status_and_back() -> None:
    record = {PORT: "p1", DISK: "v1"}
    assert unlisted(listed(record)) == record
    assert unlisted(None) == {}


def test_what_is_going_is_not_told_to_go_again() -> None:
    look = Look((thing(SERVER, "s1", "ACTIVE", task_state="deleting"), thing(PORT, "p1")))
    found = removal(OWNER, {SERVER: "s1"}, look)
    assert found.calls == ()
    assert not found.whole


@pytest.mark.parametrize("state", ["deleting", "SOFT-DELETING", "soft-deleting"])
def test_whatever_says_that_it_goes_is_not_told_again(state: str) -> None:
    by_task = thing(SERVER, "s1", "ACTIVE", task_state=state)
    by_state = thing(SERVER, "s1", state)
    assert [remove(OWNER, SERVER, each) for each in (by_task, by_state)] == [None, None]
    assert removal(OWNER, {SERVER: "s1"}, Look((by_task,))).wait == "Waiting for server s1 to be deleted"


def test_what_was_not_looked_at_is_not_lost() -> None:
    record = {PORT: "p1", SERVER: "s1"}
    look = Look((thing(SERVER, "s1"),), unseen=frozenset({"port"}))
    found = step(OWNER, parts(PORT, SERVER), record, look)
    assert (found.lost, found.calls, found.record, found.whole) == ((), (), record, True)


def test_what_is_no_part_any_more_is_forgotten_only_when_nothing_is_on_its_way() -> None:
    record = {PORT: "p1", SERVER: "s1"}
    found = step(OWNER, parts(PORT), record, Look((thing(PORT, "p1"),), settled=False))
    assert (found.record, found.whole) == (record, False)


@pytest.mark.parametrize("look", [Look(settled=False), Look(unseen=frozenset({"volume"}))])
def test_what_may_be_there_still_is_not_told_as_lost(look: Look) -> None:
    found = step(OWNER, parts(PORT), {PORT: "p1"}, look)
    assert (found.lost, found.calls, found.wait) == ((), (), "Checking that no resource is missing")


@pytest.mark.parametrize("state", TYPES["server"].gone)
def test_a_twin_that_is_gone_is_not_taken_away_again(state: str) -> None:
    look = Look((thing(SERVER, "s1", "ACTIVE"), thing(SERVER, "s2", state)))
    found = step(OWNER, parts(SERVER), {SERVER: "s1"}, look)
    assert (found.calls, found.whole) == ((), True)


@pytest.mark.parametrize("state", TYPES["server"].gone)
def test_what_is_no_server_is_there_as_long_as_it_is_listed(state: str) -> None:
    """A cloud that says so of each port that is made would have them made without end."""
    look = Look((thing(PORT, "p1", state),))
    assert step(OWNER, parts(PORT), {PORT: "p1"}, look).whole
    assert [call.id for call in removal(OWNER, {PORT: "p1"}, look).calls] == ["p1"]


def test_nothing_is_believed_to_be_gone_before_the_look_is_settled() -> None:
    assert not removal(OWNER, {PORT: "p1"}, Look(settled=False)).whole


slots = st.tuples(st.sampled_from(deletion_order()), st.sampled_from(["a", "b"]))
states = st.sampled_from(["", "ACTIVE", "ERROR", "DELETED", "SOFT_DELETED", "available", "deleting", "odd"])
look_of = st.builds(
    lambda found, settled: Look(tuple({(t.what, t.id): t for t in found}.values()), settled),
    st.lists(st.builds(thing, slots, st.sampled_from(["1", "2", "3"]), states, st.sampled_from([UID, OTHER]))),
    st.booleans(),
)
records = st.dictionaries(slots, st.sampled_from(["1", "2", "3"]), max_size=4)


@given(records, look_of)
def test_removal_never_makes_anything_and_ends(record: dict[Slot, str], look: Look) -> None:
    found = removal(OWNER, record, look)
    assert all(call.do == "delete" for call in found.calls)
    if found.whole:
        assert look.settled


@given(st.lists(slots, unique=True, max_size=4), records, look_of)
def test_a_step_makes_one_thing_at_most_and_only_what_is_not_there(
    wanted: list[Slot], record: dict[Slot, str], look: Look
) -> None:
    found = step(OWNER, parts(*wanted), record, look)
    made = [call for call in found.calls if call.do == "create"]
    assert len(made) <= 1
    for call in made:
        assert call.slot not in record
        assert not [t for t in look.marked(UID, call.slot) if t.state not in ("DELETED", "SOFT_DELETED")]
        assert look.settled


def disk(id_: str, made: float | None, answered: bool = True, **facts: Any) -> Thing:
    return thing(DISK, id_, "available", **{CREATED: made, ANSWERED: answered, **facts})


@pytest.mark.parametrize("made", [700.0, 1300.0])
def test_a_volume_that_was_made_twice_goes(made: float) -> None:
    look = Look((disk("v1", 1000.0), disk("v2", made, answered=False)))
    for found in (step(OWNER, parts(DISK), {DISK: "v1"}, look), removal(OWNER, {DISK: "v1"}, look)):
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
    ours: Thing | None, copy: Thing
) -> None:
    """The mark comes along with its backup, say; when ours is lost it may be all that there is."""
    found = step(OWNER, parts(DISK), {DISK: "v1"}, Look((*filter(None, [ours]), copy)))
    assert (found.calls, found.record) == ((), {DISK: "v1"})
    assert found.lost == (() if ours else (DISK,))


@COPIES
def test_a_volume_that_somebody_made_of_ours_outlives_it_and_is_told(ours: Thing | None, copy: Thing) -> None:
    record, gone = {DISK: "v1"}, []
    things = [*filter(None, [ours]), copy]
    while not (found := removal(OWNER, record, Look(tuple(things)))).whole:
        gone += [call.id for call in found.calls]
        things = [each for each in things if each.id not in gone]
        record = dict(found.record)
    assert gone == (["v1"] if ours else [])
    assert found.copies == (copy,)


def test_of_volumes_with_one_mark_the_oldest_is_taken_over() -> None:
    """Of those whose request was answered: they are no copies."""
    look = Look((disk("v1", None), disk("v2", 2000.0), disk("v3", 1000.0), disk("v4", 10.0, answered=False)))
    found = step(OWNER, parts(DISK), {}, look)
    assert found.record == {DISK: "v3"}
    assert step(OWNER, parts(DISK), found.record, look).calls == ()


def test_of_volumes_with_one_mark_none_is_taken_over_or_deleted_if_none_is_surely_ours() -> None:
    """One of them may be older than ours, and somebody's."""
    both = disk("ours", 9000.0, answered=False), disk("users", 1000.0, answered=False)
    found = step(OWNER, parts(DISK, SERVER), {}, Look(both))
    assert (found.calls, found.record, found.ambiguous, found.copies) == ((), {}, both[::-1], ())
    assert not found.whole
    assert (
        found.wait
        == "Several volumes have the mark of this server, and which one belongs to it is unknown: users, ours"
    )


@pytest.mark.parametrize("answered", [True, False])
def test_without_a_record_no_volume_goes_that_is_not_the_only_one_of_its_mark(answered: bool) -> None:
    both = disk("v1", 1000.0, answered=answered), disk("v2", 9000.0, answered=False)
    found = removal(OWNER, {}, Look((*both, thing(PORT, "p1"))))
    assert [call.id for call in found.calls] == ["p1"]
    found = removal(OWNER, {}, Look(both))
    assert (found.calls, found.whole, found.copies, found.ambiguous) == ((), True, both, ())
    assert [call.id for call in removal(OWNER, {}, Look(both[:1])).calls] == ["v1"], "made when a process died"


def test_what_two_slots_have_stays_as_long_as_one_is_a_part() -> None:
    """Neutron answers a rule that says the same as another with that one."""
    one: Slot = ("security-group-rule", "one")
    other: Slot = ("security-group-rule", "other")
    look = Look((Thing("security-group-rule", "r1"),))
    found = step(OWNER, parts(other), {one: "r1", other: "r1"}, look)
    assert (found.record, found.calls) == ({other: "r1"}, ())
    assert [call.id for call in step(OWNER, [], found.record, look).calls] == ["r1"]


def test_a_copy_of_a_volume_that_is_no_part_any_more_is_kept_when_that_is_gone() -> None:
    copy = disk("copy", 9000.0, answered=False)
    found = step(OWNER, [], {DISK: "v1"}, Look((disk("v1", 1000.0), copy)))
    assert [call.id for call in found.calls] == ["v1"]
    found = step(OWNER, [], found.record, Look((copy,)))
    assert (found.whole, found.calls) == (True, ())
    found = removal(OWNER, dict(found.record), Look((copy,)))
    assert (found.whole, found.calls, found.copies) == (True, (), (copy,))


def test_a_step_takes_a_moment_however_much_has_its_mark() -> None:
    slots: list[Slot] = [("floating-ip", str(number)) for number in range(5_000)]
    look = Look(tuple(thing(slot, f"id-{slot[1]}") for slot in slots))
    record = {slot: f"id-{slot[1]}" for slot in slots}
    began = time.process_time()
    for known in ({}, record):
        assert step(OWNER, parts(*slots), known, look).record == record
        assert removal(OWNER, known, look).calls
    assert time.process_time() - began < 2, "seconds"
