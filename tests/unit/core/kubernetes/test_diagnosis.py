"""Findings about pods and objects of any cluster."""

import pytest

from stackwright.core.kubernetes.diagnosis import of_objects, pod_complaint


def test_a_pod_that_did_its_work_is_no_complaint() -> None:
    assert pod_complaint({"status": {"phase": "Succeeded"}}) == ""
    waiting_pod = {"status": {"containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "ErrImagePull"}}}]}}
    assert pod_complaint(waiting_pod) == "c: ErrImagePull"


@pytest.mark.parametrize(
    ("reason", "named"), [("BlockedNoNode", True), ("CredentialsInvalid", True), ("Paused", False), ("Waiting", False)]
)
def test_objects_with_an_error_that_a_user_must_correct_are_findings(reason: str, named: bool) -> None:
    ready = {"type": "Ready", "status": "False", "reason": reason, "message": "correct it"}
    obj = {"kind": "OpenStackServer", "metadata": {"namespace": "n", "name": "a"}, "status": {"conditions": [ready]}}
    found = [(each.subject, each.level, each.text) for each in of_objects([obj])]
    assert found == ([("OpenStackServer n/a", "problem", "correct it")] if named else [])
