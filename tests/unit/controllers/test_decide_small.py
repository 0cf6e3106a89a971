"""The primary of the database, health, nodes, children, revisions: the small controllers."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.api.kinds import NODE, POD, SECRET
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.health.decide import decide as decide_health
from stackwright.controllers.health.observe import Observed as HealthSeen
from stackwright.controllers.helmbundle import children
from stackwright.controllers.node.decide import decide as decide_nodes
from stackwright.controllers.node.observe import Observed as NodesSeen
from stackwright.controllers.primary.decide import decide as decide_primary
from stackwright.controllers.primary.observe import Observed as PrimarySeen
from stackwright.controllers.revision.decide import KEPT_REVISIONS
from stackwright.controllers.revision.decide import decide as decide_revision
from stackwright.controllers.revision.observe import Observed as RevisionsSeen
from stackwright.core.digest import digest
from stackwright.core.secrets.revisions import Revision
from stackwright.core.secrets.writes import KeepRevision
from stackwright.services.mariadb.kind import MariaDB
from tests.unit.controllers.builders import CONDITIONS, NAMESPACE, condition, obj, with_ready

CLOUD = obj(OpenStackDeployment.KIND, "cloud")
GOING = obj(OpenStackDeployment.KIND, "cloud", deleting=True)


def pod(name, ready=True, role=None, deleting=False, **labels):
    labels |= {"mariadb-role": role} if role else {}
    thing = obj(POD, name, {"nodeName": "n"}, deleting=deleting, labels=labels)
    return {**thing, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]}}


def labels_of(*pods):
    plan = decide_primary(PrimarySeen(obj(MariaDB.KIND, "mariadb"), pods))
    return [(action.key[1], action.value) for action in plan.actions]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([pod("m-1"), pod("m-0"), pod("m-2")], [("m-1", "backup"), ("m-2", "backup"), ("m-0", "primary")]),
        ([pod("m-0", False), pod("m-1")], [("m-0", "backup"), ("m-1", "primary")]),
        ([pod("m-0", deleting=True), pod("m-1")], [("m-1", "primary")]),
        ([pod("m-0", role="backup"), pod("m-1", role="primary")], []),
        ([pod("m-0", role="backup"), pod("m-1", False, role="primary")], [("m-1", "backup"), ("m-0", "primary")]),
        ([pod("m-0", role="backup"), pod("m-1", role="primary", deleting=True)], [("m-0", "primary")]),
        ([pod("m-0", False), pod("m-1", False)], [("m-0", "backup"), ("m-1", "backup")]),
        ([pod("m-10"), pod("m-9")], [("m-10", "backup"), ("m-9", "primary")]),
        ([pod("debug"), pod("m-0")], [("m-0", "primary")]),
        ([], []),
    ],
)
def test_the_four_rules_choose_the_primary(pods, expected):
    assert labels_of(*pods) == expected


@given(
    st.permutations(range(4)),
    st.lists(
        st.tuples(st.booleans(), st.sampled_from([None, "primary", "backup"]), st.booleans()), min_size=4, max_size=4
    ),
)
def test_at_most_one_live_primary_exists_and_the_old_one_loses_the_label_first(order, states):
    pods = [
        pod(f"m-{ordinal}", ready, role, deleting)
        for ordinal, (ready, role, deleting) in zip(order, states, strict=True)
    ]
    changes = labels_of(*pods)
    roles = {
        p["metadata"]["name"]: p["metadata"]["labels"].get("mariadb-role")
        for p in pods
        if "deletionTimestamp" not in p["metadata"]
    }
    had = [name for name, role in roles.items() if role == "primary"]
    for name, role in changes:
        roles[name] = role
        assert list(roles.values()).count("primary") <= max(1, len(had))
    assert list(roles.values()).count("primary") == any(ready and not deleting for ready, _, deleting in states)
    assert None not in roles.values()


def workload(kind, name, component, ready):
    count = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1} if ready else {}
    status = {"observedGeneration": 1, "currentRevision": "a", "updateRevision": "a", **count}
    labels = {"application": "app", "component": component}
    thing = obj(POD, name, {"replicas": 1, "selector": {"matchLabels": labels}}, labels=labels)
    return {**thing, "kind": kind, "status": status}


def test_the_health_counts_components_and_names_the_cause_of_the_bad_ones():
    sick = pod("w-0", ready=False, application="app", component="api")
    workloads = (workload("Deployment", "w", "api", False), workload("StatefulSet", "s", "server", True))
    plan = decide_health(HealthSeen(CLOUD, workloads, (sick,)))
    assert plan.status["healthSummary"] == "1/2"
    assert plan.status["health"]["app"]["server"] == {"status": "Ready", "generation": 1, "message": ""}
    assert (
        plan.status["health"]["app"]["api"]["message"]
        == "Deployment w: Pod w-0 is running but not ready: its readiness probe fails"
    )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_several_workloads_of_a_component_the_unhealthy_one_is_reported(order):
    """As the DaemonSets of an agent that has values for single nodes."""
    both = (workload("Deployment", "w", "agent", True), workload("Deployment", "w-1a2b3c4d", "agent", False))
    plan = decide_health(HealthSeen(CLOUD, tuple(both[index] for index in order), ()))
    assert plan.status["health"]["app"]["agent"]["status"] == "Unhealthy"
    assert "w-1a2b3c4d" in plan.status["health"]["app"]["agent"]["message"]
    assert plan.status["healthSummary"] == "0/1"


def lost(name, status="Unknown", **labels):
    thing = obj(NODE, name, labels=labels)
    return {**thing, "status": {"conditions": [{"type": "Ready", "status": status, "reason": "R", "message": "m"}]}}


@pytest.mark.parametrize(
    ("nodes", "reason", "message"),
    [
        ([lost("a", "True", **{"openstack-control-plane": "enabled"})], "Ready", ""),
        ([lost("a")], "Ready", ""),
        ([lost("a", **{"openstack-control-plane": "disabled"})], "Ready", ""),
        ([lost("a", **{"openstack-compute-node": "enabled"})], "NodeLost", "Node a is not ready: m"),
        (
            [lost("b", **{"openvswitch": "enabled"}), lost("a", "False", **{"openstack-gateway": "enabled"})],
            "NodeLost",
            "Node a is not ready: m; Node b is not ready: m",
        ),
        ([], "Ready", ""),
    ],
)
def test_only_lost_nodes_of_the_cloud_count(nodes, reason, message):
    plan = decide_nodes(NodesSeen(CLOUD, tuple(nodes)))
    assert (condition(plan, "Nodes").reason, condition(plan, "Nodes").message) == (reason, message)


def test_children_are_reported_by_name_with_their_waits():
    bundles = (with_ready(obj(HelmBundle.KIND, "b"), "False", "R", "it starts"), with_ready(obj(HelmBundle.KIND, "a")))
    plan = children.decide(children.Observed(CLOUD, bundles))
    assert list(plan.status["children"].items()) == [
        ("a", {"ready": True, "message": ""}),
        ("b", {"ready": False, "message": "it starts"}),
    ]


def test_a_cloud_that_is_deleted_gets_no_report():
    assert decide_health(HealthSeen(GOING, (), ())) == decide_nodes(NodesSeen(GOING, ()))
    assert children.decide(children.Observed(GOING, ())).status == {}


STATUS = st.fixed_dictionaries(
    {},
    optional={
        "conditions": CONDITIONS,
        "phase": st.sampled_from(["Running", "Pending", "Failed"]),
        "containerStatuses": st.lists(
            st.fixed_dictionaries(
                {"name": st.just("c")},
                optional={
                    "state": st.sampled_from(
                        [{}, {"waiting": {}}, {"waiting": {"reason": "X"}}, {"terminated": {"exitCode": 1}}]
                    )
                },
            ),
            max_size=2,
        ),
        "readyReplicas": st.integers(0, 2) | st.none(),
        "observedGeneration": st.integers(0, 2),
    },
)


@given(st.lists(STATUS, max_size=3), st.sampled_from(["Deployment", "StatefulSet", "DaemonSet"]), st.booleans())
def test_any_state_of_pods_workloads_and_nodes_gets_a_decision(statuses, kind, with_status):
    things = [
        {**pod(f"p-{i}", application="app"), "status": s} if with_status else obj(POD, f"p-{i}")
        for i, s in enumerate(statuses)
    ]
    workloads = [{**thing, "kind": kind} for thing in things]
    plan = decide_health(HealthSeen(CLOUD, tuple(workloads), tuple(things)))
    assert plan.empty
    labels = decide_primary(PrimarySeen(obj(MariaDB.KIND, "m"), tuple(things))).actions
    assert all(action.kind == POD for action in labels)
    nodes = [
        {**thing, "metadata": {**thing["metadata"], "labels": {"openstack-control-plane": "enabled"}}}
        for thing in things
    ]
    assert decide_nodes(NodesSeen(CLOUD, tuple(nodes))).empty


def test_watches_map_changes_to_the_objects_they_concern():
    from stackwright.controllers.catalog import controllers
    from stackwright.core.settings import Settings

    world = {
        OpenStackDeployment.KIND: [CLOUD],
        HelmBundle.KIND: [obj(HelmBundle.KIND, "b", {"releases": [{"name": "r"}]})],
    }

    def lookup(kind, namespace):
        return [each for each in world.get(kind, []) if namespace in ("", each["metadata"]["namespace"])]

    every = {c.name: c for c in controllers(Settings({}, {}))}
    concerned = {
        name: {tuple(key) for watch in every[name].watches if watch.kind == POD for key in watch.keys(thing, lookup)}
        for name, thing in itertools.product(
            ["helmbundle", "health"], [pod("x", **{"app.kubernetes.io/instance": "r"})]
        )
    }
    assert concerned == {"helmbundle": {(NAMESPACE, "b")}, "health": {(NAMESPACE, "cloud")}}
    assert len({c.manager for c in every.values()}) == len(every), "each controller owns its own fields"


def test_plan_runs_all_controllers_that_change_what_a_plan_shows():
    from stackwright.controllers.catalog import controllers
    from stackwright.core.settings import Settings

    left_out = {each.name for each in controllers(Settings({}, {})) if not each.forecast}
    assert left_out == {
        "health", "node", "primary", "revision-openstackcontrolplane", "revision-openstackdeployment",
    }  # fmt: skip


def revision(number, spec):
    return Revision(number, (NAMESPACE, f"r{number}"), digest(spec), "")


@pytest.mark.parametrize(
    ("known", "actions"),
    [
        ((), ["revision 1"]),
        ((1, 2), ["revision 3"]),
        (range(1, KEPT_REVISIONS + 1), [f"revision {KEPT_REVISIONS + 1}", "delete r1"]),
        (range(1, KEPT_REVISIONS + 3), [f"revision {KEPT_REVISIONS + 3}", "delete r1", "delete r2", "delete r3"]),
    ],
)
def test_a_new_spec_is_stored_and_only_the_last_ten_are_kept(known, actions):
    plan = decide_revision(RevisionsSeen(CLOUD, tuple(revision(number, {"other": number}) for number in known)))
    told = [f"revision {a.number}" if isinstance(a, KeepRevision) else f"delete {a.key[1]}" for a in plan.actions]
    assert told == actions
    assert {action.kind for action in plan.actions if not isinstance(action, KeepRevision)} <= {SECRET}


def test_a_spec_that_is_the_newest_of_those_kept_is_not_kept_again():
    kept = (revision(1, {"other": 1}), revision(2, CLOUD["spec"]))
    assert decide_revision(RevisionsSeen(CLOUD, kept)).empty
    assert not decide_revision(RevisionsSeen(CLOUD, kept[::-1])).empty
