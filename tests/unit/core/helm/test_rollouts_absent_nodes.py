"""Workloads with pods on unavailable nodes, and the progress of a rollout."""

import pytest

from stackwright.core.helm.rollouts import (
    POD_TEMPLATE,
    TEMPLATE,
    counts,
    is_as_wanted,
    is_held,
    is_starting,
    is_unschedulable,
    lost,
)
from stackwright.core.kubernetes.nodes import away, is_or_are, nodes_text

AWAY = frozenset({"lost"})
LABELS = {"component": "x"}


def workload(kind, spec=None, observed=2, **status):
    meta = {"name": "w", "uid": "u", "generation": 2, "annotations": {TEMPLATE: "7"}}
    spec = {"selector": {"matchLabels": LABELS}, **(spec or {})}
    return {"kind": kind, "metadata": meta, "spec": spec, "status": {"observedGeneration": observed, **status}}


def daemonset(wanted, new, ready, **more):
    status = {"desiredNumberScheduled": wanted, "updatedNumberScheduled": new, "numberReady": ready}
    return workload("DaemonSet", **status, **more)


def deployment(wanted, new, ready, replicas=None, **more):
    status = {"updatedReplicas": new, "readyReplicas": ready, "replicas": replicas or wanted}
    return workload("Deployment", {"replicas": wanted}, **status, **more)


def statefulset(wanted, ready, update="a"):
    return workload(
        "StatefulSet", {"replicas": wanted}, readyReplicas=ready, currentRevision="a", updateRevision=update
    )


def pod(node="here", ready=True, template="7", owner="u", **status):
    labels = {**LABELS, POD_TEMPLATE: template}
    meta = {"name": "p", "labels": labels, "ownerReferences": [{"uid": owner}]}
    status = {"conditions": [{"type": "Ready", "status": str(ready)}], **status}
    return {"metadata": meta, "spec": {"nodeName": node}, "status": status}


GONE = pod("lost", ready=False, template="6")
NEW_AND_GONE = pod("lost", ready=False)
STARTING = pod(ready=False)
PENDING = pod("", ready=False)
EVICTED, LOST_AND_EVICTED = (pod(node, ready=False, phase="Failed") for node in ("here", "lost"))
SUCCEEDED = pod(ready=False, phase="Succeeded")
OTHERS = pod("lost", ready=False, owner="another")


@pytest.mark.parametrize(
    ("obj", "pods", "as_wanted", "held"),
    [
        (daemonset(3, 2, 2), [pod(), pod(), GONE], True, True),
        # The pods of other nodes are ready, and not new: one that is away uses up what may be away.
        (daemonset(3, 0, 2), [pod(), pod(), GONE], False, True),
        (daemonset(3, 2, 2), [pod(), pod(), NEW_AND_GONE], False, True),
        (daemonset(3, 3, 2), [pod(), pod(), NEW_AND_GONE], True, True),
        (daemonset(3, 2, 1), [pod(), STARTING, GONE], False, False),
        (daemonset(3, 1, 1), [pod(), GONE], False, False),
        (daemonset(3, 2, 2, observed=1), [pod(), pod(), GONE], False, False),
        (daemonset(1, 0, 0), [GONE], False, True),
        (daemonset(2, 2, 1), [pod(), OTHERS], False, False),
        (daemonset(2, 2, 2), [pod(), pod()], True, False),
        (deployment(3, 3, 2), [pod(), pod(), GONE], True, True),
        # Its pod was recreated elsewhere, and cannot be scheduled.
        (deployment(3, 3, 2), [pod(), pod(), GONE, PENDING], True, True),
        (deployment(3, 3, 2), [pod(), pod(), GONE, STARTING], False, False),
        # Pods that have ended are kept for a while, and others are in their place.
        (deployment(3, 3, 2), [pod(), pod(), GONE, EVICTED, SUCCEEDED], True, True),
        (deployment(3, 3, 2), [pod(), pod(), GONE, LOST_AND_EVICTED], True, True),
        (deployment(3, 3, 2), [pod(), STARTING, LOST_AND_EVICTED], False, False),
        (workload("Job", {"completions": 2}, succeeded=1), [SUCCEEDED, EVICTED, GONE], False, True),
        # A DaemonSet creates another one only on the same node.
        (daemonset(3, 2, 2), [pod(), pod(), pod("lost", ready=False, template="6", phase="Failed")], True, True),
        (daemonset(3, 2, 1), [pod(), EVICTED, GONE], False, False),
        (deployment(3, 2, 2, replicas=4), [pod(), pod(), GONE], False, True),
        (deployment(1, 1, 0), [GONE], False, True),
        (statefulset(3, 2), [pod(), pod(), GONE], True, True),
        (statefulset(3, 2, update="b"), [pod(), pod(), GONE], False, True),
        (statefulset(3, 1), [pod(), STARTING, GONE], False, False),
        (workload("Job"), [GONE], False, True),
        (workload("Job"), [STARTING], False, False),
        (workload("Job", succeeded=1), [GONE], True, True),
    ],
)  # fmt: skip
def test_pods_of_an_unavailable_node_do_not_count(obj, pods, as_wanted, held):
    assert is_as_wanted(obj, pods, AWAY) is as_wanted
    assert is_held(obj, pods, AWAY) is held
    assert is_held(obj, pods, frozenset()) is False


def test_only_pods_of_this_workload_on_unavailable_nodes_count():
    assert lost(daemonset(2, 2, 1), [pod(), GONE, OTHERS], AWAY) == [GONE]


def test_how_far_a_release_is():
    job = {**workload("Job", succeeded=1), "metadata": {"name": "j"}}
    assert counts([daemonset(3, 1, 2), job]) == {"DaemonSet w: new": 1, "DaemonSet w: ready": 2, "Job j: ended": 1}
    assert counts([daemonset(3, 3, 3, observed=1), {"kind": "Job", "metadata": {"name": "j"}}]) == {}


@pytest.mark.parametrize(
    ("containers", "starting"),
    [
        ([{"state": {"running": {}}, "started": False, "restartCount": 0}], True),
        ([{"state": {"running": {}}, "started": False, "restartCount": 1}], False),
        ([{"state": {"running": {}}, "started": True}], False),
        ([{"state": {"waiting": {}}, "started": False}], False),
        ([{"state": {"running": {}}, "started": False}, {"state": {"running": {}}, "started": True}], True),
        ([{"state": {"running": {}}, "started": False}, {"state": {"waiting": {}}, "started": False}], False),
        ([], False),
    ],
)
def test_a_pod_starts_while_its_containers_run_and_were_never_restarted(containers, starting):
    assert is_starting({"status": {"containerStatuses": containers}}) is starting


def test_a_pod_that_finds_no_place():
    assert is_unschedulable({"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}})
    assert not is_unschedulable({"status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}})
    assert not is_unschedulable({})


def test_unavailable_nodes_are_named():
    def node(name, status):
        return {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": status}]}}

    nodes = [node("a", "True"), node("b", "False"), node("c", "Unknown"), {"metadata": {"name": "d"}}]
    assert away(nodes) == {"b", "c", "d"}
    assert (nodes_text(["b"]), is_or_are(["b"])) == ("node b", "is")
    assert (nodes_text(["c", "b"]), is_or_are(["c", "b"])) == ("nodes b, c", "are")
    assert nodes_text([*"hgfedcb"]) == "nodes b, c, d, e, f and 2 more"
