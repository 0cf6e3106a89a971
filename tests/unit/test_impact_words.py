"""What an upgrade restarts, and what a plan loses, as values."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.api.kinds import CONFIGMAP
from stackwright.core.plan import Apply, HelmUninstall, SqlAccount
from stackwright.impact import Facts, Restart, lost, restarts
from stackwright.simulate import Step

SURGE = "new ones come before old ones go"
NOBODY = "nobody serves meanwhile"
OTHERS = "the others serve meanwhile"


def workload(kind: str, content: int = 1, name: str = "a", **spec: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}, "spec": {"template": {"spec": {"x": content}}, **spec}}


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("Deployment", {}, Restart("Deployment a", "1 pod", SURGE)),
        ("Deployment", {"replicas": 3}, Restart("Deployment a", "3 pods", SURGE)),
        ("Deployment", {"strategy": {"type": "Recreate"}}, Restart("Deployment a", "1 pod", NOBODY, away=True)),
        (
            "Deployment",
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}},
            Restart("Deployment a", "1 pod", NOBODY, away=True),
        ),
        (
            "Deployment",
            {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "50%"}}},
            Restart("Deployment a", "3 pods", OTHERS),
        ),
        (
            "Deployment",
            {"replicas": 2, "strategy": {"rollingUpdate": {"maxUnavailable": "100%"}}},
            Restart("Deployment a", "2 pods", NOBODY, away=True),
        ),
        ("StatefulSet", {"replicas": 1}, Restart("StatefulSet a", "1 pod", NOBODY, away=True)),
        ("StatefulSet", {"replicas": 3}, Restart("StatefulSet a", "3 pods", OTHERS)),
        (
            "StatefulSet",
            {"updateStrategy": {"type": "OnDelete"}},
            Restart("StatefulSet a", "1 pod", "each once somebody deletes it"),
        ),
        (
            "DaemonSet",
            {},
            Restart("DaemonSet a", "one pod on each node", "a node is without it meanwhile", away=True),
        ),
        (
            "DaemonSet",
            {"updateStrategy": {"rollingUpdate": {"maxSurge": "10%"}}},
            Restart("DaemonSet a", "one pod on each node", SURGE),
        ),
    ],
)
def test_who_serves_while_pods_restart(kind: str, spec: dict[str, Any], expected: Restart) -> None:
    assert restarts([workload(kind, 1, **spec)], [workload(kind, 2, **spec)]) == (expected,)


def test_only_pods_whose_template_differs_restart() -> None:
    before = [workload("Deployment"), workload("Job", name="j"), workload("Deployment", name="goes")]
    after = [workload("Deployment", replicas=5), workload("Job", 2, name="j"), workload("Deployment", name="comes")]
    assert restarts(before, after) == ()
    assert restarts(before, [{"kind": "ConfigMap", "metadata": {"name": "a"}}]) == ()


def test_where_nobody_knows_what_runs_all_may_restart() -> None:
    after = [workload("Deployment"), workload("StatefulSet", name="b")]
    assert [each.workload for each in restarts(None, after)] == ["Deployment a", "StatefulSet b"]


def test_a_database_that_is_dropped_is_lost_and_an_account_is_not() -> None:
    def step(**more: Any) -> Step:
        names: dict[str, Any] = {
            "host": "db",
            "admin_secret": ("n", "s"),
            "database": "nova",
            "username": "u",
            "secret": ("n", "u"),
        }
        return Step(1, "x", SqlAccount(**names, grants=(), **more))

    both = step(absent=True, drop_database=True, additional=("nova_api",))
    assert lost([both, both], Facts()) == ("database nova at db", "database nova_api at db")
    assert lost([step(absent=True), step(drop_database=True)], Facts()) == ()


def test_claims_of_other_releases_and_retained_ones_stay() -> None:
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
