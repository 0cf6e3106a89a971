"""From the objects of a cloud to the tree that `status` shows."""

from __future__ import annotations

from typing import Any

from stackwright.api.kinds import DEPLOYMENT, POD
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cli.state.objects import World
from stackwright.cli.ui.resource_tree import trees
from stackwright.cli.ui.tree import BLOCKED, BUSY, READY, Node, fitted, flat, folded, lines, without_ready
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.services.keystone.kind import Keystone
from stackwright.services.mariadb.kind import MariaDB

NOW = 1_750_000_000.0
AT = "2025-06-15T15:05:40Z"  # 60 s before NOW


def ready(status: str = "True", reason: str = "Ready", message: str = "", **more: Any) -> dict[str, Any]:
    condition = {"type": "Ready", "status": status, "reason": reason, "message": message}
    return {"conditions": [{**condition, "observedGeneration": 1, "lastTransitionTime": AT}], **more}


def obj(kind: str, name: str, owner: str = "", **more: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {"namespace": "openstack", "name": name, "uid": f"{kind}-{name}", "generation": 1}
    meta["creationTimestamp"] = AT
    if owner:
        meta["ownerReferences"] = [{"uid": owner}]
    meta |= more.pop("metadata", {})
    return {"kind": kind, "metadata": meta, **more}


def crashing() -> list[dict[str, Any]]:
    labels = {"app.kubernetes.io/instance": "openstack-keystone", "application": "keystone"}
    selector = {"matchLabels": {"application": "keystone"}}
    deployment = obj(
        "Deployment", "keystone-api", metadata={"labels": labels}, spec={"replicas": 2, "selector": selector}
    )
    deployment["status"] = {"observedGeneration": 1, "replicas": 2, "readyReplicas": 1, "updatedReplicas": 2}
    good = obj("Pod", "keystone-api-a", metadata={"labels": labels}, spec={"nodeName": "node1"})
    good["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    bad = obj("Pod", "keystone-api-b", metadata={"labels": labels})
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting"}
    state = {"waiting": waiting}
    last = {"terminated": {"exitCode": 1}}
    bad["status"] = {
        "phase": "Running",
        "containerStatuses": [{"name": "keystone", "restartCount": 3, "state": state, "lastState": last}],
    }
    return [deployment, good, bad]


def world() -> World:
    deployment, good, bad = crashing()
    cloud = obj(
        "OpenStackDeployment", "cloud", status=ready("False", "NotReady", "Keystone: a pod crashes", progress="1/2")
    )
    release = {"name": "openstack-keystone", "chart": "keystone"}
    bundle = obj("HelmBundle", "openstack-keystone", "Keystone-keystone", spec={"releases": [release]})
    bundle["status"] = ready("False", "NotReady", "a pod crashes", releaseStatuses={release["name"]: {"revision": 2}})
    return World(
        NOW,
        {
            OpenStackDeployment.KIND: [cloud],
            Keystone.KIND: [
                obj("Keystone", "keystone", cloud["metadata"]["uid"], status=ready("False", "x", "a pod crashes"))
            ],
            MariaDB.KIND: [obj("MariaDB", "mariadb", cloud["metadata"]["uid"], status=ready())],
            HelmBundle.KIND: [bundle],
            DEPLOYMENT: [deployment],
            POD: [good, bad],
        },
    )


def test_the_tree_shows_the_path_from_the_cloud_to_the_pod_with_the_cause() -> None:
    [tree] = trees(world())
    assert lines(tree) == [
        "… OpenStackDeployment openstack/cloud  (1/2, 60s): Keystone: a pod crashes",
        "├─ ✓ MariaDB openstack/mariadb  (60s)",
        "└─ … Keystone openstack/keystone  (60s): a pod crashes",
        "   └─ … HelmBundle openstack/openstack-keystone  (60s): a pod crashes",
        "      └─ … release openstack-keystone  (revision 2)",
        "         └─ ✗ Deployment keystone-api  (1/2)",
        "            ├─ ✓ Pod keystone-api-a  (60s, on node1)",
        "            └─ ✗ Pod keystone-api-b  (60s, 3 restarts): container keystone: CrashLoopBackOff; "
        "last exit code 1: back-off restarting",
    ]


def test_troubles_omit_ready_objects() -> None:
    [tree] = trees(world())
    bad = without_ready(tree)
    assert bad is not None
    assert not any(node.state == READY for _, node in flat([bad]))
    assert without_ready(Node(READY, "x")) is None


def test_an_outdated_status_is_not_ready() -> None:
    cloud = obj("OpenStackDeployment", "cloud", metadata={"generation": 2}, status=ready())
    [tree] = trees(World(NOW, {OpenStackDeployment.KIND: [cloud]}))
    assert (tree.state, tree.message) == (BUSY, "the operator has not processed its last change yet")


def test_blocked_and_unseen_and_going() -> None:
    objects = [
        obj("OpenStackDeployment", "a", status=ready("False", "BlockedInvalidSpec", "spec.x: wrong")),
        obj("OpenStackDeployment", "b"),
        obj("OpenStackDeployment", "c", metadata={"deletionTimestamp": AT}, status=ready()),
    ]
    found = trees(World(NOW, {OpenStackDeployment.KIND: objects}))
    assert [node.state for node in found] == [BLOCKED, "unknown", BUSY]
    assert [node.title for node in trees(World(NOW, {OpenStackDeployment.KIND: objects}), "b")] == [
        "OpenStackDeployment openstack/b"
    ]


def test_a_service_without_an_owner_is_a_separate_tree() -> None:
    found = trees(World(NOW, {Keystone.KIND: [obj("Keystone", "mine", status=ready())]}))
    assert [node.title for node in found] == ["Keystone openstack/mine"]


def test_data_output_always_has_every_key() -> None:
    [tree] = trees(world())
    data = tree.as_dict()
    assert {key: value for key, value in data.items() if key != "children"} == {
        "kind": "OpenStackDeployment",
        "namespace": "openstack",
        "name": "cloud",
        "ready": False,
        "state": BUSY,
        "reason": "NotReady",
        "message": "Keystone: a pod crashes",
        "since": AT,
        "facts": ["1/2", "60s"],
    }
    kinds = {}
    pending = [data]
    while pending:
        node = pending.pop()
        assert node.keys() == data.keys()
        kinds[node["kind"]] = (node["namespace"], node["name"], node["since"])
        pending += node["children"]
    assert kinds["Pod"] == ("openstack", "keystone-api-a", AT)
    assert kinds["HelmRelease"] == ("", "openstack-keystone", "")
    assert set(kinds) >= {"MariaDB", "Keystone", "HelmBundle", "Deployment"}


def test_objects_below_a_ready_one_are_folded_and_counted() -> None:
    ready = Node(READY, "a", children=(Node(READY, "b", children=(Node(READY, "c"),)),))
    busy = Node(BUSY, "d", children=(ready, Node(BUSY, "e")))
    assert lines(folded(ready)) == ["✓ a  (2 folded)"]
    assert lines(folded(busy)) == ["… d", "├─ ✓ a  (2 folded)", "└─ … e"]


def test_lines_that_do_not_fit_are_counted() -> None:
    text = [str(number) for number in range(50)]
    assert fitted(text, 50) == text
    assert fitted(text, 45) == [*text[:44], "… 6 more lines do not fit"]


def test_nothing_that_a_terminal_obeys_is_shown() -> None:
    node = Node(READY, "a\x1b[2J", "b\x1b]0;c\x07\nd", ("e\x9b",))
    assert lines(node) == [r"✓ a\x1b[2J  (e\x9b): b\x1b]0;c\x07\nd"]
