"""Findings about pods and objects of any cluster."""

import pytest

from stackwright.core.kubernetes.diagnosis import of_objects, of_pods


def test_a_pod_that_does_not_run_is_a_finding() -> None:
    def findings(**status: object) -> list[tuple[str, str]]:
        pod = {"metadata": {"namespace": "n", "name": "a"}, "status": status}
        return [(each.level, each.text) for each in of_pods([pod])]

    fine = [("ok", "1 pods without problems")]
    assert findings(phase="Succeeded") == fine
    assert findings(phase="Running", conditions=[{"type": "Ready", "status": "False"}]) == fine, "it may start slowly"
    waiting = {"name": "c", "state": {"waiting": {"reason": "CreateContainerConfigError", "message": "no Secret"}}}
    cause = "container c: CreateContainerConfigError: no Secret"
    assert findings(containerStatuses=[waiting]) == [("problem", cause)]
    assert findings(phase="Failed", message="The node was low on memory") == [("problem", "The node was low on memory")]


@pytest.mark.parametrize(
    ("reason", "named"), [("BlockedNoNode", True), ("CredentialsInvalid", True), ("Paused", False), ("Waiting", False)]
)
def test_objects_with_an_error_that_a_user_must_correct_are_findings(reason: str, named: bool) -> None:
    ready = {"type": "Ready", "status": "False", "reason": reason, "message": "correct it"}
    obj = {"kind": "OpenStackServer", "metadata": {"namespace": "n", "name": "a"}, "status": {"conditions": [ready]}}
    found = [(each.subject, each.level, each.text) for each in of_objects([obj])]
    assert found == ([("OpenStackServer n/a", "problem", "correct it")] if named else [])
