"""The lifecycle of an object's resources in an OpenStack: creation, record, marks, losses and deletion."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.controllers.infra.managed_resources import (
    DesiredResource,
    Owner,
    plan_next,
    record_of,
    remove,
    written,
)
from stackwright.controllers.infra.teardown import plan_removal
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
ADDRESS: ResourceKey = ("floating-ip", "api")


def thing(key: ResourceKey, id_: str, state: str = "", uid: str = UID, **facts: Any) -> CloudResource:
    return CloudResource(key[0], id_, key[1], state, mark(uid, key), facts)


def parts(*keys: ResourceKey) -> list[DesiredResource]:
    return [DesiredResource(key, lambda ids, key=key: {"of": key[1], "ids": dict(ids)}) for key in keys]  # type: ignore[misc]


def test_one_resource_is_created_per_step_and_its_id_is_recorded() -> None:
    found = plan_next(OWNER, parts(PORT, SERVER), {}, ProjectView())
    (call,) = found.calls
    assert (call.do, call.resource_key) == ("create", PORT)
    assert found.record == {PORT: PendingId(PORT)}
    assert resolve_pending(dict(found.record), {PORT: "p1"}) == {PORT: "p1"}


def test_later_resources_use_the_ids_of_earlier_ones() -> None:
    found = plan_next(OWNER, parts(PORT, SERVER), {PORT: "p1"}, ProjectView((thing(PORT, "p1"),)))
    assert found.calls[0].body["ids"] == {PORT: "p1"}


def test_a_resource_of_an_earlier_process_is_adopted_by_its_mark() -> None:
    found = plan_next(OWNER, parts(PORT), {}, ProjectView((thing(PORT, "p1"),)))
    assert (found.calls, found.record, found.complete) == ((), {PORT: "p1"}, True)


def test_a_resource_of_another_object_is_not_adopted_by_its_name() -> None:
    found = plan_next(
        OWNER, parts(PORT), {}, ProjectView((thing(PORT, "p1", uid=OTHER), CloudResource("port", "p2", "web-0")))
    )
    assert found.calls[0].do == "create"


TRUNK: ResourceKey = ("trunk", "web-0")
ON_PORT = [parts(PORT)[0], DesiredResource(TRUNK, lambda ids: {"port_id": ids[PORT]})]


def test_a_trunk_is_adopted_with_its_port_only() -> None:
    """Of two trunks with the mark, one may belong to a port that a list lacked."""
    earlier, trunk = thing(TRUNK, "t1", port_id="p1", **{CREATED: 1.0}), thing(TRUNK, "t2", port_id="p2")
    port = thing(PORT, "p2")
    assert plan_next(OWNER, ON_PORT, {}, ProjectView((earlier, trunk, port))).record == {PORT: "p2", TRUNK: "t2"}
    (call,) = plan_next(OWNER, ON_PORT, {PORT: "p2"}, ProjectView((earlier, port))).calls
    assert (call.do, call.resource_key, call.body) == ("create", TRUNK, {"port_id": "p2"})
    unsettled = plan_next(OWNER, ON_PORT, {}, ProjectView((earlier,), settled=False))
    assert (unsettled.record, unsettled.calls) == ({}, ())


def test_a_rule_is_adopted_with_both_groups_only() -> None:
    a, b, rule = ("security-group", "a"), ("security-group", "b"), ("security-group-rule", "a from b")
    of = DesiredResource(rule, lambda ids: {"security_group_id": ids[a], "remote_group_id": ids[b]})
    wanted, groups = [*parts(a, b), of], (thing(a, "1"), thing(b, "2"))
    for remote, record in (("2", {a: "1", b: "2", rule: "r"}), ("3", {a: "1", b: "2", rule: PendingId(rule)})):
        found = thing(rule, "r", security_group_id="1", remote_group_id=remote)
        assert plan_next(OWNER, wanted, {}, ProjectView((*groups, found))).record == record


def test_a_resource_in_a_network_of_others_is_adopted() -> None:
    """It may have been selected by another name since."""
    part = DesiredResource(PORT, lambda ids: {"network_id": "new"})
    assert plan_next(OWNER, [part], {}, ProjectView((thing(PORT, "p1", network_id="old"),))).record == {PORT: "p1"}


def test_nothing_is_created_while_an_earlier_request_may_take_effect() -> None:
    found = plan_next(OWNER, parts(PORT), {}, ProjectView(settled=False))
    assert found.calls == ()
    assert found.wait


UNUSED = {what: dict.fromkeys(facts.used) for what, facts in TYPES.items()}
IN_USE = [(what, field) for what, facts in TYPES.items() for field in facts.used if not facts.copied]
UNKNOWN: list[ResourceKey] = [(what, "x") for what in ("router", "subnet", "security-group")]


@pytest.mark.parametrize("made", [700.0, 1000.0, 1300.0])
@pytest.mark.parametrize("key", [PORT, SERVER, ADDRESS])
def test_duplicates_are_deleted(key: ResourceKey, made: float) -> None:
    things = thing(key, "1", **{CREATED: 1000.0}), thing(key, "2", **{CREATED: made}, **UNUSED[key[0]])
    found = plan_next(OWNER, parts(key), {key: "1"}, ProjectView(things))
    assert [(call.do, call.id, call.why) for call in found.calls] == [("delete", "2", "duplicate")]
    assert found.originals == ()


@pytest.mark.parametrize("key", [*UNKNOWN, PORT, SERVER])
def test_if_its_use_is_unknown_a_younger_one_is_a_duplicate(key: ResourceKey) -> None:
    things = thing(key, "1", **{CREATED: 1000.0}), thing(key, "2", **{CREATED: 1001.0})
    found = plan_next(OWNER, parts(key), {key: "1"}, ProjectView(things))
    assert [(call.do, call.id, call.why) for call in found.calls] == [("delete", "2", "duplicate")]


ORIGINALS = pytest.mark.parametrize(
    ("key", "known", "other"),
    [
        *((key, {CREATED: 1000.0}, {CREATED: 699.0}) for key in (PORT, SERVER, ADDRESS)),
        *((key, {CREATED: 1000.0}, {CREATED: 1301.0}) for key in (PORT, SERVER, ADDRESS)),
        *(
            ((what, "x"), {CREATED: 1000.0}, {CREATED: made, field: "x"})
            for what, field in IN_USE
            for made in (999.0, 1001.0)
        ),
        *((key, {CREATED: 1000.0}, {CREATED: 999.0}) for key in (*UNKNOWN, PORT, SERVER)),
        (PORT, {CREATED: 1000.0}, {}),
        (PORT, {}, {CREATED: 1000.0}),
    ],
)


@ORIGINALS
def test_what_may_be_the_original_is_kept_and_named(
    key: ResourceKey, known: dict[str, Any], other: dict[str, Any]
) -> None:
    """A wrong list made a restored object create another one."""
    original = thing(key, "original", **other)
    view = ProjectView((thing(key, "1", **known), original))
    found = plan_next(OWNER, parts(key), {key: "1"}, view)
    assert (found.calls, found.missing, found.complete, found.originals) == ((), (), True, (original,))
    assert found.note.endswith(f"{key[0]} original")
    more = plan_next(OWNER, parts(key, DISK), {key: "1"}, view)
    assert (more.calls, more.wait, more.record) == ((), found.note, {key: "1"}), (
        "nothing is created until it is resolved"
    )


@ORIGINALS
def test_what_may_be_the_original_is_deleted_with_its_object(
    key: ResourceKey, known: dict[str, Any], other: dict[str, Any]
) -> None:
    """No client copies its mark, so it is ours."""
    things = thing(key, "1", **known), thing(key, "original", **other)
    for found in (plan_removal(OWNER, {key: "1"}, ProjectView(things)), plan_removal(OWNER, {}, ProjectView(things))):
        assert {call.id for call in found.calls} == {"1", "original"}
    unwanted = plan_next(OWNER, [], {key: "1"}, ProjectView(things))
    assert [call.id for call in unwanted.calls] == ["original"]
    assert (unwanted.originals, unwanted.note) == ((), "")


def test_the_original_of_a_lost_resource_is_kept() -> None:
    original = thing(PORT, "original", **{CREATED: 1000.0})
    found = plan_next(OWNER, parts(PORT), {PORT: "1"}, ProjectView((original,)))
    assert (found.calls, found.missing) == ((), (PORT,))
    assert plan_next(OWNER, parts(PORT), {}, ProjectView((original,))).record == {PORT: "original"}


def test_of_several_unrecorded_resources_the_oldest_is_adopted() -> None:
    things = thing(PORT, "1", **{CREATED: 2000.0}), thing(PORT, "2", **{CREATED: 1000.0})
    assert plan_next(OWNER, parts(PORT), {}, ProjectView(things)).record == {PORT: "2"}


def test_a_lost_resource_is_reported_and_not_silently_recreated() -> None:
    found = plan_next(OWNER, parts(PORT, SERVER), {PORT: "p1", SERVER: "s1"}, ProjectView((thing(PORT, "p1"),)))
    assert found.missing == (SERVER,)
    assert found.calls == ()


def test_a_soft_deleted_server_is_lost() -> None:
    view = ProjectView((thing(SERVER, "s1", "SOFT_DELETED"),))
    assert plan_next(OWNER, parts(SERVER), {SERVER: "s1"}, view).missing == (SERVER,)


def test_a_desired_resource_waits_for_the_earlier_ones() -> None:
    (disk, server) = parts(DISK, SERVER)
    waiting = DesiredResource(server.resource_key, server.body, lambda things: f"volume is {things[DISK].state}")
    found = plan_next(OWNER, [disk, waiting], {DISK: "v1"}, ProjectView((thing(DISK, "v1", "creating"),)))
    assert (found.calls, found.wait) == ((), "volume is creating")


def test_a_resource_that_is_no_longer_desired_is_deleted_and_not_missed() -> None:
    record = {PORT: "p1", SERVER: "s1"}
    found = plan_next(OWNER, parts(PORT), record, ProjectView((thing(PORT, "p1"), thing(SERVER, "s1"))))
    assert [(call.do, call.id) for call in found.calls] == [("delete", "s1")]
    assert found.record == record, "until it is gone"
    found = plan_next(OWNER, parts(PORT), record, ProjectView((thing(PORT, "p1"),)))
    assert (found.record, found.complete) == ({PORT: "p1"}, True)


def test_deletion_uses_record_and_marks_and_starts_with_dependents() -> None:
    view = ProjectView((thing(PORT, "p1"), thing(DISK, "v1"), thing(SERVER, "s1", "ACTIVE")))
    record = {PORT: "p1", SERVER: "s1"}
    found = plan_removal(OWNER, record, view)
    assert [(call.do, call.id) for call in found.calls] == [("delete", "s1")]
    found = plan_removal(OWNER, record, ProjectView((thing(PORT, "p1"), thing(DISK, "v1"))))
    assert [call.id for call in found.calls] == ["p1"]
    assert found.record == {PORT: "p1"}
    assert [call.id for call in plan_removal(OWNER, {}, ProjectView((thing(DISK, "v1"),))).calls] == ["v1"]
    assert plan_removal(OWNER, record, ProjectView()).complete


def test_resources_that_are_only_observed_are_not_deleted() -> None:
    address = CloudResource("floating-ip", "users")
    assert plan_removal(OWNER, {}, ProjectView((address,))).complete
    (call,) = plan_removal(OWNER, {("floating-ip", "api"): "users"}, ProjectView((address,))).calls
    assert call.id == "users"


def test_undesired_resources_are_deleted_in_reverse_order() -> None:
    group, rule = ("security-group", "b"), ("security-group-rule", "b-1")
    record = {group: "g", rule: "r"}
    found = plan_next(OWNER, [], record, ProjectView((thing(group, "g"), thing(rule, "r"))))  # type: ignore[arg-type]
    assert [call.id for call in found.calls] == ["r", "g"]


def test_a_port_of_the_server_is_removed_only_if_its_mark_proves_that_it_was_created_under_its_key() -> None:
    former: ResourceKey = ("port", "0")
    record = {former: "p0", PORT: "p1", SERVER: "s1"}

    def removed(port: CloudResource) -> list[str]:
        view = ProjectView((port, thing(PORT, "p1"), thing(SERVER, "s1")))
        found = plan_next(OWNER, parts(PORT, SERVER), record, view)
        assert found.record == record
        return [call.id for call in found.calls]

    assert removed(thing(former, "p0", uid=OTHER, device_id="s1")) == []
    assert removed(thing(PORT, "p0", device_id="s1")) == [], "created under another key"
    assert removed(thing(former, "p0", device_id="s1")) == ["p0"]
    assert removed(thing(former, "p0", uid=OTHER, device_id="s2")) == ["p0"]
    assert removed(thing(former, "p0", uid=OTHER)) == ["p0"]


def test_a_record_in_a_status_and_back() -> None:
    record = {PORT: "p1", DISK: "v1"}
    assert record_of(written(record)) == record
    assert record_of({}) == record_of({"resources": None}) == {}


def test_a_deletion_in_progress_is_not_requested_again() -> None:
    view = ProjectView((thing(SERVER, "s1", "ACTIVE", task_state="deleting"), thing(PORT, "p1")))
    found = plan_removal(OWNER, {SERVER: "s1"}, view)
    assert found.calls == ()
    assert not found.complete


@pytest.mark.parametrize("state", ["deleting", "SOFT-DELETING", "soft-deleting"])
def test_no_resource_that_reports_its_deletion_is_deleted_again(state: str) -> None:
    by_task = thing(SERVER, "s1", "ACTIVE", task_state=state)
    by_state = thing(SERVER, "s1", state)
    assert [remove(OWNER, SERVER, each) for each in (by_task, by_state)] == [None, None]
    assert plan_removal(OWNER, {SERVER: "s1"}, ProjectView((by_task,))).wait == "Waiting for server s1 to be deleted"


def test_an_unobserved_resource_is_not_lost() -> None:
    record = {PORT: "p1", SERVER: "s1"}
    view = ProjectView((thing(SERVER, "s1"),), unlisted_types=frozenset({"port"}))
    found = plan_next(OWNER, parts(PORT, SERVER), record, view)
    assert (found.missing, found.calls, found.record, found.complete) == ((), (), record, True)


def test_an_undesired_resource_leaves_the_record_only_after_all_requests() -> None:
    record = {PORT: "p1", SERVER: "s1"}
    found = plan_next(OWNER, parts(PORT), record, ProjectView((thing(PORT, "p1"),), settled=False))
    assert (found.record, found.complete) == (record, False)


@pytest.mark.parametrize("view", [ProjectView(settled=False), ProjectView(unlisted_types=frozenset({"volume"}))])
def test_a_resource_that_may_still_exist_is_not_reported_as_lost(view: ProjectView) -> None:
    found = plan_next(OWNER, parts(PORT), {PORT: "p1"}, view)
    assert (found.missing, found.calls, found.wait) == ((), (), "Checking that no resource is missing")


@pytest.mark.parametrize("state", TYPES["server"].gone)
def test_a_deleted_duplicate_is_not_deleted_again(state: str) -> None:
    view = ProjectView((thing(SERVER, "s1", "ACTIVE"), thing(SERVER, "s2", state)))
    found = plan_next(OWNER, parts(SERVER), {SERVER: "s1"}, view)
    assert (found.calls, found.complete) == ((), True)


@pytest.mark.parametrize("state", TYPES["server"].gone)
def test_resources_other_than_servers_exist_while_they_are_listed(state: str) -> None:
    """A cloud that reports this for each new port would cause endless creations."""
    view = ProjectView((thing(PORT, "p1", state),))
    assert plan_next(OWNER, parts(PORT), {PORT: "p1"}, view).complete
    assert [call.id for call in plan_removal(OWNER, {PORT: "p1"}, view).calls] == ["p1"]


def test_absence_is_accepted_only_when_the_view_is_settled() -> None:
    assert not plan_removal(OWNER, {PORT: "p1"}, ProjectView(settled=False)).complete


keys = st.tuples(st.sampled_from(deletion_order()), st.sampled_from(["a", "b"]))
states = st.sampled_from(["", "ACTIVE", "ERROR", "DELETED", "SOFT_DELETED", "available", "deleting", "odd"])
look_of = st.builds(
    lambda found, settled: ProjectView(tuple({(t.type, t.id): t for t in found}.values()), settled),
    st.lists(st.builds(thing, keys, st.sampled_from(["1", "2", "3"]), states, st.sampled_from([UID, OTHER]))),
    st.booleans(),
)
records = st.dictionaries(keys, st.sampled_from(["1", "2", "3"]), max_size=4)


@given(records, look_of)
def test_deletion_never_creates_a_resource_and_ends(record: dict[ResourceKey, str], view: ProjectView) -> None:
    found = plan_removal(OWNER, record, view)
    assert all(call.do == "delete" for call in found.calls)
    if found.complete:
        assert view.settled


@given(st.lists(keys, unique=True, max_size=4), records, look_of)
def test_a_step_creates_at_most_one_resource_and_only_an_absent_one(
    wanted: list[ResourceKey], record: dict[ResourceKey, str], view: ProjectView
) -> None:
    found = plan_next(OWNER, parts(*wanted), record, view)
    made = [call for call in found.calls if call.do == "create"]
    assert len(made) <= 1
    for call in made:
        assert call.resource_key not in record
        assert not [t for t in view.marked(UID, call.resource_key) if t.state not in ("DELETED", "SOFT_DELETED")]
        assert view.settled


def disk(id_: str, made: float | None, answered: bool = True, **facts: Any) -> CloudResource:
    return thing(DISK, id_, "available", **{CREATED: made, ANSWERED: answered, **facts})


@pytest.mark.parametrize("made", [700.0, 1300.0])
def test_a_duplicate_volume_is_deleted(made: float) -> None:
    view = ProjectView((disk("v1", 1000.0), disk("v2", made, answered=False)))
    for found in (plan_next(OWNER, parts(DISK), {DISK: "v1"}, view), plan_removal(OWNER, {DISK: "v1"}, view)):
        assert [(call.do, call.id, call.why) for call in found.calls] == [("delete", "v2", "duplicate")]
    assert found.record == {DISK: "v1"}, "what it is known by lasts as long"


COPIES = pytest.mark.parametrize(
    ("ours", "copy"),
    [
        (disk("v1", 1000.0), disk("v2", 1301.0)),
        (disk("v1", 1000.0), disk("v2", 1001.0, attachments=[{"server_id": "s2"}])),
        (disk("v1", 1000.0), disk("v2", 999.0)),  # its request was answered, so none repeated it
        (disk("v1", 1000.0), disk("v2", None)),
        (disk("v1", None), disk("v2", 1000.0)),
        (None, disk("v2", 1000.0)),
        (disk("v1", 1000.0, answered=False), disk("v2", 1100.0, answered=False)),
    ],
)


@COPIES
def test_a_copy_of_our_volume_is_not_treated_as_a_duplicate(ours: CloudResource | None, copy: CloudResource) -> None:
    """A backup, for example, contains the mark; after the loss of ours, its copy may be all that exists."""
    found = plan_next(OWNER, parts(DISK), {DISK: "v1"}, ProjectView((*filter(None, [ours]), copy)))
    assert (found.calls, found.record) == ((), {DISK: "v1"})
    assert found.missing == (() if ours else (DISK,))


@COPIES
def test_a_copy_of_our_volume_outlives_it_and_is_reported(ours: CloudResource | None, copy: CloudResource) -> None:
    record, gone = {DISK: "v1"}, []
    things = [*filter(None, [ours]), copy]
    while not (found := plan_removal(OWNER, record, ProjectView(tuple(things)))).complete:
        gone += [call.id for call in found.calls]
        things = [each for each in things if each.id not in gone]
        record = dict(found.record)
    assert gone == (["v1"] if ours else [])
    assert found.copies == (copy,)


def test_a_second_volume_with_its_own_id_is_kept_and_reported_while_the_object_exists() -> None:
    """It may be the original of a restored object, or belong to a copy of the object in another cluster."""
    copy = disk("v3", 1001.0, answered=False, attachments=[{"server_id": "s2"}])
    view = ProjectView((disk("v1", 1000.0), disk("v2", 1001.0), copy))
    found = plan_next(OWNER, parts(DISK), {DISK: "v1"}, view)
    assert (found.complete, found.calls) == (True, ())
    assert found.note.endswith("delete the wrong ones: volume v2"), "a copy by a user is not worth a report"


def test_the_oldest_of_several_volumes_with_one_mark_is_adopted() -> None:
    """Among those with a response to their request, which are no copies."""
    view = ProjectView((disk("v1", None), disk("v2", 2000.0), disk("v3", 1000.0), disk("v4", 10.0, answered=False)))
    found = plan_next(OWNER, parts(DISK), {}, view)
    assert found.record == {DISK: "v3"}
    assert plan_next(OWNER, parts(DISK), found.record, view).calls == ()


def test_volumes_with_one_mark_are_neither_adopted_nor_deleted_if_none_is_surely_ours() -> None:
    """One of them may be older than ours and belong to another client."""
    both = disk("ours", 9000.0, answered=False), disk("users", 1000.0, answered=False)
    found = plan_next(OWNER, parts(DISK, SERVER), {}, ProjectView(both))
    assert (found.calls, found.record, found.ambiguous, found.copies) == ((), {}, both[::-1], ())
    assert not found.complete
    assert (
        found.wait
        == "Several volumes have the mark of this server, and which one belongs to it is unknown: users, ours"
    )


@pytest.mark.parametrize("answered", [True, False])
def test_without_a_record_only_a_volume_with_a_unique_mark_is_deleted(answered: bool) -> None:
    both = disk("v1", 1000.0, answered=answered), disk("v2", 9000.0, answered=False)
    found = plan_removal(OWNER, {}, ProjectView((*both, thing(PORT, "p1"))))
    assert [call.id for call in found.calls] == ["p1"]
    found = plan_removal(OWNER, {}, ProjectView(both))
    assert (found.calls, found.complete, found.copies, found.ambiguous) == ((), True, both, ())
    assert [call.id for call in plan_removal(OWNER, {}, ProjectView(both[:1])).calls] == ["v1"], (
        "made when a process died"
    )


def test_a_resource_of_two_slots_remains_while_one_is_desired() -> None:
    """Neutron returns an existing equal rule for a new one."""
    one: ResourceKey = ("security-group-rule", "one")
    other: ResourceKey = ("security-group-rule", "other")
    view = ProjectView((CloudResource("security-group-rule", "r1"),))
    found = plan_next(OWNER, parts(other), {one: "r1", other: "r1"}, view)
    assert (found.record, found.calls) == ({other: "r1"}, ())
    assert [call.id for call in plan_next(OWNER, [], found.record, view).calls] == ["r1"]


def test_a_copy_of_an_undesired_volume_outlives_that_volume() -> None:
    copy = disk("copy", 9000.0, answered=False)
    found = plan_next(OWNER, [], {DISK: "v1"}, ProjectView((disk("v1", 1000.0), copy)))
    assert [call.id for call in found.calls] == ["v1"]
    found = plan_next(OWNER, [], found.record, ProjectView((copy,)))
    assert (found.complete, found.calls) == (True, ())
    found = plan_removal(OWNER, dict(found.record), ProjectView((copy,)))
    assert (found.complete, found.calls, found.copies) == (True, (), (copy,))


def test_a_step_is_fast_with_any_number_of_marked_resources() -> None:
    keys: list[ResourceKey] = [("floating-ip", str(number)) for number in range(5_000)]
    view = ProjectView(tuple(thing(key, f"id-{key[1]}") for key in keys))
    record = {key: f"id-{key[1]}" for key in keys}
    began = time.process_time()
    for known in ({}, record):
        assert plan_next(OWNER, parts(*keys), known, view).record == record
        assert plan_removal(OWNER, known, view).calls
    assert time.process_time() - began < 2, "seconds"


@COPIES
def test_a_copy_of_a_volume_stops_no_creation_and_is_not_called_an_original(
    ours: CloudResource | None, copy: CloudResource
) -> None:
    if ours is None:
        return  # the volume is lost, which is another step
    found = plan_next(OWNER, parts(DISK, PORT), {DISK: "v1"}, ProjectView((ours, copy)))
    assert [(call.do, call.resource_key) for call in found.calls] == [("create", PORT)]
    assert (found.originals, found.note) == ((), "")


LACKING = ProjectView(unlisted_types=frozenset({"volume"}), lacking={"volume": "block_storage"})
LACKED = "The cloud lacks the API of volumes (service block_storage), which is needed for volume v1: restore it"


@pytest.mark.parametrize("wanted", [(PORT, DISK), (PORT, DISK, SERVER)])
def test_a_wait_for_a_missing_api_names_it_and_the_resources(wanted: Any) -> None:
    record = {PORT: "p1", DISK: "v1"}
    view = LACKING if SERVER not in wanted else replace(LACKING, things=(thing(PORT, "p1"),))
    found = plan_next(OWNER, parts(*wanted), record, view)
    assert (found.calls, found.wait, found.reason) == ((), LACKED, "BlockedServiceMissing")


def test_a_deletion_that_a_missing_api_blocks_keeps_only_its_resources_in_the_record() -> None:
    record = {PORT: "p1", DISK: "v1"}
    found = plan_removal(OWNER, record, LACKING)
    assert (found.calls, found.wait, found.reason) == ((), LACKED, "BlockedServiceMissing")
    assert found.record == {DISK: "v1"}
    assert plan_removal(OWNER, record, replace(LACKING, settled=False)).record == record
    first = plan_removal(OWNER, record, replace(LACKING, things=(thing(PORT, "p1"),)))
    assert ([call.id for call in first.calls], first.reason) == (["p1"], "")
