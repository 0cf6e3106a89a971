"""Restarts of an upgrade and losses of a plan, as values."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.api.kinds import CONFIGMAP
from stackwright.core.plan import Apply, HelmUninstall, HelmUpgrade
from stackwright.core.plan.accounts import EnsureDatabaseAccount
from stackwright.forecast.costs import objects
from stackwright.forecast.impact import Facts, Restart, claimed, lost, restarts
from stackwright.forecast.simulate import Step

SURGE = "new pods start before old ones end"
NOBODY = "the service is interrupted"
OTHERS = "the other pods serve requests"


def workload(kind: str, content: int = 1, name: str = "a", **spec: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}, "spec": {"template": {"spec": {"x": content}}, **spec}}


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("Deployment", {}, Restart("Deployment", "a", "1 pod", SURGE)),
        ("Deployment", {"replicas": 3}, Restart("Deployment", "a", "3 pods", SURGE)),
        ("Deployment", {"strategy": {"type": "Recreate"}}, Restart("Deployment", "a", "1 pod", NOBODY, away=True)),
        (
            "Deployment",
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}},
            Restart("Deployment", "a", "1 pod", NOBODY, away=True),
        ),
        (
            "Deployment",
            {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "50%"}}},
            Restart("Deployment", "a", "3 pods", OTHERS),
        ),
        (
            "Deployment",
            {"replicas": 2, "strategy": {"rollingUpdate": {"maxUnavailable": "100%"}}},
            Restart("Deployment", "a", "2 pods", NOBODY, away=True),
        ),
        ("StatefulSet", {"replicas": 1}, Restart("StatefulSet", "a", "1 pod", NOBODY, away=True)),
        ("StatefulSet", {"replicas": 3}, Restart("StatefulSet", "a", "3 pods", OTHERS)),
        (
            "StatefulSet",
            {"updateStrategy": {"type": "OnDelete"}},
            Restart("StatefulSet", "a", "1 pod", "each is replaced when it is deleted"),
        ),
        (
            "DaemonSet",
            {},
            Restart("DaemonSet", "a", "one pod on each node", "interrupted on each node in turn", away=True),
        ),
        (
            "DaemonSet",
            {"updateStrategy": {"rollingUpdate": {"maxSurge": "10%"}}},
            Restart("DaemonSet", "a", "one pod on each node", SURGE),
        ),
    ],
)
def test_which_service_is_available_while_pods_restart(kind: str, spec: dict[str, Any], expected: Restart) -> None:
    assert restarts([workload(kind, 1, **spec)], [workload(kind, 2, **spec)]) == (expected,)


def test_the_work_that_pods_of_a_service_do_not_finish_is_told() -> None:
    labels = {"application": "heat", "component": "engine"}
    engine = [workload("Deployment", content, replicas=3) for content in (1, 2)]
    for each in engine:
        each["metadata"]["labels"] = labels
    (found,) = restarts(engine[:1], engine[1:])
    assert found.meanwhile.startswith(f"{SURGE}; a resource in work for more than 2 minutes stays IN_PROGRESS")
    assert not found.away, "its API serves requests"
    labels["component"] = "api"
    assert restarts(engine[:1], engine[1:])[0].meanwhile == SURGE


def test_only_pods_whose_template_differs_restart() -> None:
    before = [workload("Deployment"), workload("Job", name="j"), workload("Deployment", name="goes")]
    after = [workload("Deployment", replicas=5), workload("Job", 2, name="j"), workload("Deployment", name="comes")]
    assert restarts(before, after) == ()
    assert restarts(before, [{"kind": "ConfigMap", "metadata": {"name": "a"}}]) == ()


def member(name: str, node: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"application": "m", **labels}}, "spec": {"nodeName": node}}


@pytest.mark.parametrize("must", [True, False])
def test_servers_that_share_a_node_and_may_no_longer_are_named(must: bool) -> None:
    """The second of them would find no node: its volume is on the one that the first has."""
    selector = {"matchLabels": {"application": "m", "component": "server"}}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    anti = {f"{'required' if must else 'preferred'}DuringSchedulingIgnoredDuringExecution": [term]}
    before = workload("StatefulSet", replicas=3, volumeClaimTemplates=[{}])
    after = workload("StatefulSet", replicas=3, volumeClaimTemplates=[{}])
    after["spec"]["template"] = {"spec": {"affinity": {"podAntiAffinity": anti}}}
    apart = [member("a-0", "x", component="server"), member("b-0", "x", component="exporter"), member("a-9", "")]
    (found,) = restarts([before], [after], apart)
    assert found.meanwhile == OTHERS
    (found,) = restarts([before], [after], [*apart, member("a-1", "x", component="server")])
    assert (found.meanwhile != OTHERS) is must
    if must:
        assert found.meanwhile == (
            "a-0 and a-1 share node x, which is not allowed any more: with local volumes all but one stay Pending, "
            "unless pod.affinity.anti.type.server of the chart allows it"
        )


def test_without_knowledge_of_running_pods_all_may_restart() -> None:
    after = [workload("Deployment"), workload("StatefulSet", name="b")]
    assert [each.workload for each in restarts(None, after)] == ["Deployment a", "StatefulSet b"]


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "Deployment"},
        {"kind": "Deployment", "metadata": {"name": "a"}},
        {"kind": "Deployment", "metadata": None, "spec": {"template": {}}},
        {"kind": "Deployment", "metadata": {"name": "a"}, "spec": ["template"]},
        {"kind": "Deployment", "metadata": {"name": "a"}, "spec": {"template": None}},
        {"kind": "Deployment", "metadata": ["name"], "spec": {"template": "x"}},
    ],
)
def test_an_unreadable_record_gives_no_knowledge_of_running_pods(broken: dict[str, Any]) -> None:
    after = [workload("Deployment"), workload("StatefulSet", name="b")]
    assert restarts([*after, broken], after) == restarts(None, after)
    assert restarts([*after, {"kind": ["Deployment"]}, {}], after) == ()


def bomb(levels: int) -> str:
    lines = ["kind: Deployment", "a0: &a0 [x]", *(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]" for n in range(1, levels))]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [bomb(9), "kind: &a {b: *a}", "[" * 100_000, "a: " + "[" * 500 + "]" * 500, "a: !!int ''", "a: !!bool x", "a: 0x_"],
)
def test_yaml_that_helm_does_not_write_cannot_be_read(text: str) -> None:
    assert objects(text) is None


def test_manifests_can_be_read() -> None:
    text = (
        "---\n# Source: a\nkind: Deployment\nmetadata: {name: a}\n---\n---\nkind: ConfigMap\ndata: {x: '*a &b !!c'}\n"
    )
    assert [each["kind"] for each in objects(text) or ()] == ["Deployment", "ConfigMap"]


def test_a_database_that_is_dropped_is_lost_and_an_account_is_not() -> None:
    def step(**more: Any) -> Step:
        names: dict[str, Any] = {
            "host": "db",
            "admin_secret": ("n", "s"),
            "database": "nova",
            "username": "u",
            "secret": ("n", "u"),
        }
        return Step(1, "x", EnsureDatabaseAccount(**names, grants=(), **more))

    both = step(absent=True, dropped=("nova", "nova_api"), additional=("nova_api", "shared"))
    assert lost([both, both], Facts()) == ("database nova at db", "database nova_api at db")
    assert lost([step(absent=True), step(dropped=("nova",))], Facts()) == ()


def test_claims_of_other_releases_and_retained_ones_are_kept() -> None:
    def claim(name: str, **labels: str) -> dict[str, Any]:
        meta = {"namespace": "n", "name": name, "labels": {f"app.kubernetes.io/{k}": v for k, v in labels.items()}}
        return {"metadata": meta, "spec": {"volumeName": f"pv-{name}"}, "status": {"capacity": {"storage": "1Gi"}}}

    volumes = [{"metadata": {"name": "pv-b"}, "spec": {"persistentVolumeReclaimPolicy": "Retain"}}]
    claims = [claim("a", instance="x"), claim("b", instance="x"), claim("c", instance="y"), claim("data-set-0")]
    kept = {
        "metadata": {"name": "set", "labels": {"app.kubernetes.io/instance": "x"}},
        "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]},
    }
    facts = Facts(claims=claims, stateful=[kept], volumes=volumes)
    gone = Step(1, "x", HelmUninstall(("n", "x")))
    assert lost([gone], facts) == ("claim n/a with volume pv-a (1Gi)",)
    assert lost([gone], Facts(claims=claims))[1] == "claim n/b with volume pv-b (1Gi)", "unless it may not be read"


def test_objects_of_others_have_no_back_ends() -> None:
    meta = {"metadata": {"namespace": "n", "name": "c"}}
    assert lost([Step(1, "x", Apply(CONFIGMAP, meta), before=meta)], Facts()) == ()


def test_only_releases_with_volumes_need_a_storage_class() -> None:
    def step(name: str, **values: Any) -> Step:
        return Step(1, "x", HelmUpgrade(("n", name), name, "", values, "", {}))

    steps = [
        step("etcd", volume={"class_name": "fast"}),
        step("glance", volume={"store": "images"}),
        step("glance-in-ceph", volume={"store": ""}),
        step("nova"),
    ]
    assert claimed(steps, ()) == {"fast": ["n/etcd"], "": ["n/glance"]}
