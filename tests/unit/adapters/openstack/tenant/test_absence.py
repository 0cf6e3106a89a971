"""What proves absence, as a function of the responses and of their times."""

from __future__ import annotations

import pytest

from stackwright.adapters.openstack.tenant.absence import CONFIRM, SETTLE, PendingConfirmations, RequiredLists

IDS = [("port", f"id-{number}") for number in range(4)]
PORT = IDS[0]


def settled(
    required: RequiredLists,
    doubts: PendingConfirmations | None = None,
    *,
    taken: float = 0.0,
    moved: bool = False,
    started: float = 0.0,
    unsure: float = 0.0,
) -> float:
    return required.settled(
        "port", taken, doubts or PendingConfirmations(), moved=moved, started=started, unsure=unsure
    )


def listed_first(began: float) -> PendingConfirmations:
    doubts = PendingConfirmations()
    doubts.compare("port", (), IDS, began)
    return doubts


def test_any_list_proves_absence_to_an_object_all_of_whose_requests_this_process_sent() -> None:
    assert settled(RequiredLists(known=True, began=100.0), listed_first(90.0), started=95.0) == 0.0


def test_an_object_of_an_earlier_process_needs_a_list_after_its_last_requests_and_after_the_first_list() -> None:
    required = RequiredLists(known=False, began=100.0)
    assert settled(required, started=95.0) == 95.0 + SETTLE
    assert settled(required, listed_first(99.0), started=95.0) == 99.0 + CONFIRM
    assert settled(required, listed_first(96.0), started=95.0) == 95.0 + SETTLE


def test_a_list_with_many_more_items_counts_as_the_first_one() -> None:
    doubts = PendingConfirmations()
    doubts.compare("port", (), IDS[:1], 10.0)
    assert doubts.proof("port") == 10.0 + CONFIRM
    doubts.compare("port", IDS[:2], IDS, 20.0)
    assert doubts.proof("port") == 10.0 + CONFIRM, "half of the items may be new"
    doubts.compare("port", IDS[:1], IDS, 30.0)
    assert doubts.proof("port") == 30.0 + CONFIRM
    assert doubts.proof("volume") == 0.0


def test_an_object_that_was_moved_needs_a_list_at_once_and_a_second_one_as_proof() -> None:
    required = RequiredLists(known=True, began=100.0)
    assert settled(required, taken=99.0, moved=True) == 100.0
    assert required.needs_list("port", 99.0, moved=True)
    assert settled(required, taken=101.0, moved=True) == 100.0 + SETTLE
    assert settled(required, taken=120.0, moved=True) == 100.0 + SETTLE, "the first list decides, not the last"


def test_a_late_first_list_of_an_object_that_was_moved_is_confirmed() -> None:
    required = RequiredLists(known=True, began=100.0)
    assert settled(required, taken=110.0, moved=True) == 110.0 + CONFIRM


def test_what_an_object_serves_and_its_uncertain_requests_require_later_lists() -> None:
    required = RequiredLists(known=True, began=100.0, served=150.0)
    assert settled(required) == 150.0
    assert settled(required, unsure=160.0) == 160.0
    assert settled(required, unsure=140.0) == 150.0


@pytest.mark.parametrize(("second", "gone"), [(CONFIRM - 0.1, False), (CONFIRM, True)])
def test_two_responses_404_prove_absence_if_they_are_far_enough_apart(second: float, gone: bool) -> None:
    doubts = PendingConfirmations()
    for began in (0.0, second):
        doubts.not_found(PORT, began)
    assert (doubts.lacking([PORT], {"port"}, ()) == set()) is gone


def test_an_id_is_requested_at_once_and_again_when_the_second_response_counts() -> None:
    doubts = PendingConfirmations()
    assert doubts.due(IDS[:2], 100.0) == IDS[:2]
    doubts.not_found(PORT, 100.0)
    assert doubts.due(IDS[:2], 104.0) == [IDS[1]]
    assert doubts.due(IDS[:2], 100.0 + CONFIRM) == IDS[:2]


def test_a_resource_that_appears_again_is_no_longer_absent() -> None:
    doubts = PendingConfirmations()
    for began in (0.0, CONFIRM):
        doubts.not_found(PORT, began)
    doubts.seen(PORT)
    assert doubts.lacking([PORT], {"port"}, ()) == {PORT}
    doubts.not_found(PORT, 100.0)
    assert doubts.lacking([PORT], {"port"}, ()) == {PORT}, "the earlier responses no longer count"


def test_only_recorded_ids_of_listed_types_that_do_not_exist_are_lacking() -> None:
    doubts = PendingConfirmations()
    assert doubts.lacking([*IDS, ("volume", "v")], {"port"}, IDS[1:]) == {PORT}


@pytest.mark.parametrize(("sure", "absent"), [(True, True), (False, False)])
def test_one_404_for_a_list_proves_no_missing_service_unless_the_catalog_lacks_it(sure: bool, absent: bool) -> None:
    doubts = PendingConfirmations()
    doubts.lacks("port", 100.0, sure=sure)
    assert ("port" in doubts.absent) is absent
    assert doubts.is_sure({"port"}, ()) is absent
    doubts.lacks("port", 100.0 + CONFIRM, sure=False)
    assert doubts.is_sure({"port"}, ())
    assert doubts.due([PORT], 200.0) == [], "a missing service returns 404 for every id"
    doubts.has("port")
    assert (doubts.absent, doubts.lacked, doubts.due([PORT], 200.0)) == ({}, {}, [PORT])


def test_no_look_is_sure_while_an_id_is_lacking_or_a_list_of_its_types_is_in_doubt() -> None:
    doubts = PendingConfirmations()
    assert doubts.is_sure({"port"}, ())
    assert not doubts.is_sure({"port"}, [PORT])
    doubts.weigh("port", IDS, (), 100.0)
    assert not doubts.is_sure({"port"}, ())
    assert doubts.is_sure({"volume"}, ())
    assert [doubts.doubtful("port", 100.0, now) for now in (104.0, 105.0)] == [False, True]
    doubts.weigh("port", (), (), 100.0 + CONFIRM)
    assert doubts.is_sure({"port"}, ())


def test_ids_that_no_object_has_recorded_are_forgotten() -> None:
    doubts = PendingConfirmations(single=set(IDS))
    for key in IDS[:2]:
        doubts.not_found(key, 0.0)
        doubts.not_found(key, CONFIRM)
    doubts.forget(frozenset(IDS[1:2]))
    assert (set(doubts.missing), doubts.gone, doubts.single) == ({IDS[1]}, {IDS[1]}, {IDS[1]})
