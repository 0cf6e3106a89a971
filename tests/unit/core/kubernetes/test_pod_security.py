"""Pods that Pod Security forbids, as the API server words it in conditions and Events of Kubernetes' controllers."""

import pytest

from stackwright.core.kubernetes.pod_security import LONGEST, may_be_refused, refusal

REMEDY = "kubectl label namespace openstack pod-security.kubernetes.io/enforce=privileged --overwrite"
WHAT = (
    'host namespaces (hostNetwork=true), privileged (container "libvirt" must not set securityContext.privileged=true)'
)
TEXT = f'pods "w-x7k2p" is forbidden: violates PodSecurity "baseline:latest": {WHAT}'


def workload(kind, spec=None, generation=2, **status):
    meta = {"name": "w", "namespace": "openstack", "uid": "u", "generation": generation}
    return {"kind": kind, "metadata": meta, "spec": spec or {}, "status": {"observedGeneration": 2, **status}}


def event(message=f"Error creating: {TEXT}", uid="u", reason="FailedCreate"):
    return {"reason": reason, "message": message, "involvedObject": {"kind": "DaemonSet", "uid": uid}}


LACKING = [
    workload("DaemonSet", desiredNumberScheduled=2, currentNumberScheduled=0),
    workload("StatefulSet", {"replicas": 3}, replicas=1),
    workload("StatefulSet", replicas=0),
    workload("Job", startTime="2026-11-27T05:00:00Z"),
]


@pytest.mark.parametrize("obj", LACKING, ids=lambda obj: obj["kind"])
def test_the_events_of_a_workload_without_pods_name_the_level_and_the_remedy(obj):
    assert may_be_refused(obj)
    found = refusal(obj, [event("Error creating: exceeded quota"), event()])
    assert found == f"{obj['kind']} w: Pod Security baseline forbids its pods ({WHAT}); {REMEDY}"
    others = [event(uid="other"), event(reason="SuccessfulCreate"), event("exceeded quota"), {"reason": "FailedCreate"}]
    assert refusal(obj, others) == ""


def test_a_deployment_has_the_refusal_as_a_condition():
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": TEXT}
    assert refusal(workload("Deployment", conditions=[condition])).startswith("Deployment w: Pod Security baseline ")
    assert refusal(workload("Deployment", conditions=[{**condition, "status": "False"}])) == ""
    assert refusal(workload("Deployment", conditions=[{**condition, "message": "exceeded quota"}])) == ""


@pytest.mark.parametrize(
    "obj",
    [
        workload("DaemonSet", desiredNumberScheduled=2, currentNumberScheduled=2),
        workload("DaemonSet", generation=3, desiredNumberScheduled=2, currentNumberScheduled=0),
        workload("DaemonSet"),
        workload("StatefulSet", {"replicas": 0}, replicas=0),
        workload("Job", startTime="t", active=1),
        workload("Job", startTime="t", succeeded=1),
        workload("Job"),
        workload("Deployment", replicas=0),
        {"kind": "DaemonSet", "metadata": {"name": "w", "uid": "u"}},
        {"metadata": {"name": "w", "uid": "u"}},
    ],
)
def test_earlier_events_of_a_workload_with_its_pods_do_not_count(obj):
    assert not may_be_refused(obj)
    assert refusal(obj, [event()]) == ""


@pytest.mark.parametrize("field", ["lastTimestamp", "eventTime"])
def test_a_refusal_is_over_when_a_later_pod_was_created(field):
    def at(minute, reason, uid="u"):
        return {**event(reason=reason, uid=uid), "lastTimestamp": None, field: f"2026-11-27T05:{minute}:00Z"}

    obj = workload("StatefulSet", {"replicas": 3}, replicas=1)
    refused, permitted = at(10, "FailedCreate"), at(20, "SuccessfulCreate")
    assert refusal(obj, [refused, permitted]) == ""
    assert refusal(obj, [refused, permitted, at(30, "FailedCreate")])
    assert refusal(obj, [refused, at(20, "SuccessfulCreate", uid="other"), at(10, "SuccessfulCreate")])


def test_the_text_is_bounded_to_one_line():
    found = refusal(LACKING[0], [event(TEXT + ", x\n" * 5000)])
    assert len(found) < LONGEST + 250 and "\n" not in found
