"""What proves absence, as a function of the responses and of their times."""

from __future__ import annotations

import pytest

from stackwright.adapters.openstack.tenant.absence import CONFIRM, SETTLE, AbsenceEvidence, RequiredLists

IDS = [("port", f"id-{number}") for number in range(4)]
PORT = IDS[0]


def settled(
    required: RequiredLists,
    evidence: AbsenceEvidence | None = None,
    *,
    taken: float = 0.0,
    moved: bool = False,
    started: float = 0.0,
    uncertain: float = 0.0,
) -> float:
    return required.settled_at(
        "port", taken, evidence or AbsenceEvidence(), moved=moved, started=started, uncertain=uncertain
    )


def listed_first(began: float) -> AbsenceEvidence:
    evidence = AbsenceEvidence()
    evidence.record_growth("port", (), IDS, began)
    return evidence


def test_any_list_proves_absence_to_an_object_all_of_whose_requests_this_process_sent() -> None:
    assert settled(RequiredLists(known=True, began=100.0), listed_first(90.0), started=95.0) == 0.0


def test_an_object_of_an_earlier_process_needs_a_list_after_its_last_requests_and_after_the_first_list() -> None:
    required = RequiredLists(known=False, began=100.0)
    assert settled(required, started=95.0) == 95.0 + SETTLE
    assert settled(required, listed_first(99.0), started=95.0) == 99.0 + CONFIRM
    assert settled(required, listed_first(96.0), started=95.0) == 95.0 + SETTLE


def test_a_list_with_many_more_items_counts_as_the_first_one() -> None:
    evidence = AbsenceEvidence()
    evidence.record_growth("port", (), IDS[:1], 10.0)
    assert evidence.provable_from("port") == 10.0 + CONFIRM
    evidence.record_growth("port", IDS[:2], IDS, 20.0)
    assert evidence.provable_from("port") == 10.0 + CONFIRM, "half of the items may be new"
    evidence.record_growth("port", IDS[:1], IDS, 30.0)
    assert evidence.provable_from("port") == 30.0 + CONFIRM
    assert evidence.provable_from("volume") == 0.0


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
    required = RequiredLists(known=True, began=100.0, served_since=150.0)
    assert settled(required) == 150.0
    assert settled(required, uncertain=160.0) == 160.0
    assert settled(required, uncertain=140.0) == 150.0


@pytest.mark.parametrize(("second", "gone"), [(CONFIRM - 0.1, False), (CONFIRM, True)])
def test_two_responses_404_prove_absence_if_they_are_far_enough_apart(second: float, gone: bool) -> None:
    evidence = AbsenceEvidence()
    for began in (0.0, second):
        evidence.not_found(PORT, began)
    assert (evidence.unconfirmed([PORT], {"port"}, ()) == set()) is gone


def test_an_id_is_requested_at_once_and_again_when_the_second_response_counts() -> None:
    evidence = AbsenceEvidence()
    assert evidence.due(IDS[:2], 100.0) == IDS[:2]
    evidence.not_found(PORT, 100.0)
    assert evidence.due(IDS[:2], 104.0) == [IDS[1]]
    assert evidence.due(IDS[:2], 100.0 + CONFIRM) == IDS[:2]


def test_a_resource_that_appears_again_is_no_longer_absent() -> None:
    evidence = AbsenceEvidence()
    for began in (0.0, CONFIRM):
        evidence.not_found(PORT, began)
    evidence.found(PORT)
    assert evidence.unconfirmed([PORT], {"port"}, ()) == {PORT}
    evidence.not_found(PORT, 100.0)
    assert evidence.unconfirmed([PORT], {"port"}, ()) == {PORT}, "the earlier responses no longer count"


def test_only_recorded_ids_of_listed_types_that_do_not_exist_are_lacking() -> None:
    evidence = AbsenceEvidence()
    assert evidence.unconfirmed([*IDS, ("volume", "v")], {"port"}, IDS[1:]) == {PORT}


@pytest.mark.parametrize(("sure", "absent"), [(True, True), (False, False)])
def test_one_404_for_a_list_proves_no_missing_service_unless_the_catalog_lacks_it(sure: bool, absent: bool) -> None:
    evidence = AbsenceEvidence()
    evidence.list_not_found("port", 100.0, sure=sure)
    assert ("port" in evidence.missing_services) is absent
    assert evidence.is_sure({"port"}, ()) is absent
    evidence.list_not_found("port", 100.0 + CONFIRM, sure=False)
    assert evidence.is_sure({"port"}, ())
    assert evidence.due([PORT], 200.0) == [], "a missing service returns 404 for every id"
    evidence.list_found("port")
    assert (evidence.missing_services, evidence.missing_lists, evidence.due([PORT], 200.0)) == ({}, {}, [PORT])


def test_no_look_is_sure_while_an_id_is_lacking_or_a_list_of_its_types_is_in_doubt() -> None:
    evidence = AbsenceEvidence()
    assert evidence.is_sure({"port"}, ())
    assert not evidence.is_sure({"port"}, [PORT])
    evidence.record_loss("port", IDS, (), 100.0)
    assert not evidence.is_sure({"port"}, ())
    assert evidence.is_sure({"volume"}, ())
    assert [evidence.is_confirmation_due("port", 100.0, now) for now in (104.0, 105.0)] == [False, True]
    evidence.record_loss("port", (), (), 100.0 + CONFIRM)
    assert evidence.is_sure({"port"}, ())


def test_ids_that_no_object_has_recorded_are_forgotten() -> None:
    evidence = AbsenceEvidence(unlisted=set(IDS))
    for key in IDS[:2]:
        evidence.not_found(key, 0.0)
        evidence.not_found(key, CONFIRM)
    evidence.forget(frozenset(IDS[1:2]))
    assert (set(evidence.first_404), evidence.deleted, evidence.unlisted) == ({IDS[1]}, {IDS[1]}, {IDS[1]})
