"""Findings about pods and objects of any cluster."""

from stackwright.core.kubernetes.diagnosis import pod_complaint


def test_a_pod_that_did_its_work_is_no_complaint() -> None:
    assert pod_complaint({"status": {"phase": "Succeeded"}}) == ""
    waiting_pod = {"status": {"containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "ErrImagePull"}}}]}}
    assert pod_complaint(waiting_pod) == "c: ErrImagePull"
