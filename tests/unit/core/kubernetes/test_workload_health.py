"""Why a workload is not ready: statuses as the kubelet and the controllers of Kubernetes write them."""

import pytest

from stackwright.core.kubernetes.workload_health import is_stuck, pod_cause, pods_of, why, workload_ready


def pod(name="p-0", labels=None, **status):
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {"nodeName": "node-1"}, "status": status}


def container(state, last=None, **more):
    return {"name": "main", "image": "example.org/x:1", "state": state, "lastState": last or {}, **more}


READY = {"type": "Ready", "status": "True"}
UNREADY = {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}
BACK_OFF = "back-off 2m40s restarting failed container=main pod=p-0_openstack(6a4f0c1e-1111-2222-3333-444455556666)"
PODS = {
    "image missing": (
        pod(
            phase="Pending",
            conditions=[UNREADY],
            containerStatuses=[
                container(
                    {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "example.org/x:1"'}}
                )
            ],
        ),
        "Pod p-0, container main: ImagePullFailed: node node-1 cannot pull example.org/x:1",
    ),
    "crash loop": (
        pod(
            phase="Running",
            conditions=[UNREADY],
            containerStatuses=[
                container(
                    {"waiting": {"reason": "CrashLoopBackOff", "message": BACK_OFF}}, {"terminated": {"exitCode": 3}}
                )
            ],
        ),
        "Pod p-0, container main: CrashLoopBackOff; last exit code 3: back-off restarting failed container=main",
    ),
    "crash loop of a program that said why": (
        pod(
            phase="Running",
            conditions=[UNREADY],
            containerStatuses=[
                container(
                    {"waiting": {"reason": "CrashLoopBackOff", "message": BACK_OFF}},
                    {"terminated": {"exitCode": 1, "message": "no interface tunnel0 on this node\n"}},
                )
            ],
        ),
        "Pod p-0, container main: CrashLoopBackOff; last exit code 1: no interface tunnel0 on this node",
    ),
    "ended with a word": (
        pod(
            phase="Failed",
            containerStatuses=[container({"terminated": {"exitCode": 2, "reason": "Error", "message": "no disk"}})],
        ),
        "Pod p-0, container main: terminated with exit code 2 (no disk)",
    ),
    "ended without a word": (
        pod(
            phase="Failed",
            containerStatuses=[container({"terminated": {"exitCode": 2, "reason": "OOMKilled", "message": " "}})],
        ),
        "Pod p-0, container main: terminated with exit code 2 (OOMKilled)",
    ),
    "crash loop of an init container": (
        pod(
            phase="Pending",
            initContainerStatuses=[{**container({"waiting": {"reason": "CrashLoopBackOff"}}), "name": "init"}],
            containerStatuses=[container({"waiting": {"reason": "PodInitializing"}})],
        ),
        "Pod p-0, container init: CrashLoopBackOff",
    ),
    "secret missing": (
        pod(
            phase="Pending",
            containerStatuses=[
                container({"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "x" not found'}})
            ],
        ),
        'Pod p-0, container main: CreateContainerConfigError: secret "x" not found',
    ),
    "unschedulable": (
        pod(
            phase="Pending",
            conditions=[
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/3 nodes are available: 3 Insufficient memory.",
                }
            ],
        ),
        "Pod p-0 cannot be scheduled: 0/3 nodes are available: 3 Insufficient memory.",
    ),
    "readiness": (
        pod(phase="Running", conditions=[UNREADY], containerStatuses=[container({"running": {}}, ready=False)]),
        "Pod p-0 is running but not ready: its readiness probe fails",
    ),
    "node lost": (
        pod(
            phase="Running",
            reason="NodeLost",
            conditions=[{**UNREADY, "reason": "NodeNotReady"}],
            containerStatuses=[container({"running": {}})],
        ),
        "Pod p-0: node node-1 does not respond",
    ),
    "evicted": (
        pod(phase="Failed", reason="Evicted", message="The node was low on resource: memory."),
        "Pod p-0: The node was low on resource: memory.",
    ),
    "job failing": (
        pod(
            phase="Failed",
            conditions=[UNREADY],
            containerStatuses=[container({"terminated": {"exitCode": 1, "reason": "Error"}})],
        ),
        "Pod p-0, container main: terminated with exit code 1 (Error)",
    ),
    "terminating": (
        {"metadata": {"name": "p-0", "deletionTimestamp": "now"}, "status": {"phase": "Running"}},
        "Pod p-0 is terminating",
    ),
    "starting": (pod(phase="Pending", containerStatuses=[container({"waiting": {"reason": "ContainerCreating"}})]), ""),
    "ready": (pod(phase="Running", conditions=[READY], containerStatuses=[container({"running": {}})]), ""),
    "completed": (
        pod(
            phase="Succeeded",
            conditions=[{**UNREADY, "reason": "PodCompleted"}],
            containerStatuses=[container({"terminated": {"exitCode": 0, "reason": "Completed"}})],
        ),
        "",
    ),
    "just made": (pod(), ""),
}


STUCK = {
    "image missing",
    "crash loop",
    "crash loop of a program that said why",
    "crash loop of an init container",
    "secret missing",
    "unschedulable",
}


@pytest.mark.parametrize("case", PODS)
def test_the_cause_of_a_pod_is_named(case):
    status, expected = PODS[case]
    assert pod_cause(status) == expected


@pytest.mark.parametrize("case", PODS)
def test_a_pod_is_stuck_if_kubernetes_alone_will_hardly_get_on_with_it(case):
    assert is_stuck(PODS[case][0]) == (case in STUCK)


@pytest.mark.parametrize("delay", ["10s", "20s", "40s", "1m20s", "2m40s", "5m0s"])
def test_a_cause_does_not_change_while_kubelet_only_waits_longer(delay):
    message = BACK_OFF.replace("2m40s", delay)
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    assert pod_cause(pod(containerStatuses=[container(state)])).endswith("back-off restarting failed container=main")


def test_a_long_text_of_a_kubelet_is_cut():
    state = {"waiting": {"reason": "ErrImagePull", "message": "x" * 5000}}
    assert len(pod_cause(pod(containerStatuses=[container(state)]))) < 300


def workload(kind, spec=None, generation=2, **status):
    meta = {"name": "w", "generation": generation}
    return {"kind": kind, "metadata": meta, "spec": spec or {}, "status": {"observedGeneration": 2, **status}}


@pytest.mark.parametrize(
    ("obj", "ready"),
    [
        (workload("Deployment", {"replicas": 2}, replicas=2, updatedReplicas=2, readyReplicas=2), True),
        (workload("Deployment", {"replicas": 2}, replicas=3, updatedReplicas=2, readyReplicas=3), False),
        (workload("Deployment", {"replicas": 2}, replicas=2, updatedReplicas=1, readyReplicas=2), False),
        (workload("Deployment", {"replicas": 2}, generation=3, replicas=2, updatedReplicas=2, readyReplicas=2), False),
        (workload("Deployment", {"replicas": 0}), True),
        (workload("Deployment", {}), False),
        (workload("StatefulSet", {"replicas": 1}, readyReplicas=1, currentRevision="a", updateRevision="a"), True),
        (workload("StatefulSet", {"replicas": 1}, readyReplicas=1, currentRevision="a", updateRevision="b"), False),
        (workload("StatefulSet", {"replicas": 3}, readyReplicas=2, currentRevision="a", updateRevision="a"), False),
        (workload("DaemonSet", desiredNumberScheduled=2, updatedNumberScheduled=2, numberReady=2), True),
        (workload("DaemonSet", desiredNumberScheduled=2, updatedNumberScheduled=2, numberReady=1), False),
        (workload("DaemonSet"), True),
        (workload("Job", {"completions": 1}, succeeded=1), True),
        (workload("Job", {}, failed=2), False),
        ({"kind": "Deployment", "metadata": {"name": "w", "generation": 1}}, False),
    ],
)
def test_a_workload_is_ready_when_all_its_pods_are_new_and_ready(obj, ready):
    assert workload_ready(obj) is ready


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (workload("Deployment", {"replicas": 3}, readyReplicas=1), "Deployment w: 1 of 3 pods ready"),
        (workload("DaemonSet", desiredNumberScheduled=3, numberReady=1), "DaemonSet w: 1 of 3 pods ready"),
        (workload("Job"), "Job w: running"),
        (workload("Job", failed=1), "Job w: failed before, retrying"),
        (
            workload(
                "Job",
                failed=7,
                conditions=[
                    {
                        "type": "Failed",
                        "status": "True",
                        "reason": "BackoffLimitExceeded",
                        "message": "Job has reached the specified backoff limit",
                    }
                ],
            ),
            "Job w: Job has reached the specified backoff limit",
        ),
        (
            workload(
                "Deployment",
                conditions=[
                    {"type": "ReplicaFailure", "status": "True", "message": 'pods "w-1" is forbidden: exceeded quota'}
                ],
            ),
            'Deployment w: pods "w-1" is forbidden: exceeded quota',
        ),
    ],
)
def test_without_a_telling_pod_the_workload_speaks_for_itself(obj, expected):
    assert why(obj, [PODS["ready"][0]]) == expected


def test_the_first_pod_with_a_cause_speaks_for_the_workload():
    pods = [{**PODS["readiness"][0], "metadata": {"name": "p-1"}}, PODS["ready"][0]]
    assert (
        why(workload("StatefulSet"), pods)
        == "StatefulSet w: Pod p-1 is running but not ready: its readiness probe fails"
    )


def test_pods_belong_to_the_workload_whose_selector_matches():
    obj = workload("Deployment", {"selector": {"matchLabels": {"a": "1", "b": "2"}}})
    mine = pod("mine", {"a": "1", "b": "2", "c": "3"})
    assert pods_of(obj, [mine, pod("other", {"a": "1"})]) == [mine]
    assert pods_of(workload("Deployment"), [mine]) == []
