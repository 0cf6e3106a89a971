"""Helm runs with the operator's rights: a HelmBundle takes shipped charts only, into its own namespace only."""

from contextlib import closing

import pytest
from builders import NAMESPACE, condition, obj
from pydantic import ValidationError

from stackwright.adapters.helm import HelmCli
from stackwright.api.helmbundle import HelmBundle, HelmBundleSpec
from stackwright.api.registry import ADMITTED
from stackwright.controllers.helmbundle.decide import decide
from stackwright.controllers.helmbundle.observe import Observed
from stackwright.controllers.validate import errors_of
from stackwright.core.objects import FINALIZER
from stackwright.core.ports import Refused
from stackwright.core.settings import Settings

SHIPPED = Settings({}, {"memcached": "digest"})
ANY = Settings({}, {"memcached": "digest"}, unrestricted=True)
URL = "https://charts.example/evil-1.tgz"


def seen(release, settings=SHIPPED, *, statuses=None, deleting=False):
    thing = obj(HelmBundle.KIND, "b", {"releases": [release]}, finalizers=[FINALIZER], deleting=deleting)
    return Observed(settings, {**thing, "status": {"releaseStatuses": statuses or {}}})


def texts(plan):
    return [str(action) for action in plan.actions]


@pytest.mark.parametrize(
    ("release", "field"),
    [
        ({"name": "x", "chart": URL}, "chart"),
        ({"name": "x", "chart": "./local"}, "chart"),
        ({"name": "x", "chart": "oci://r.example/c"}, "chart"),
        ({"name": "x", "chart": "memcached", "namespace": "kube-system"}, "namespace"),
    ],
)
def test_other_charts_and_namespaces_are_refused_unless_the_operator_permits_them(release, field):
    plan = decide(seen(release))
    assert plan.empty and condition(plan).reason == "BlockedNotPermitted"
    assert f"{field}: " in condition(plan).message and "helmbundles.unrestricted" in condition(plan).message
    (error,) = errors_of(seen(release).obj, settings=SHIPPED)
    assert error.startswith(f"spec.releases[0].{field}: ")
    assert len(decide(seen(release, ANY)).actions) == 1
    assert errors_of(seen(release).obj, settings=ANY) == []


def test_a_bundle_takes_nothing_away_from_a_namespace_that_it_may_not_write_to():
    release = {"name": "keystone", "chart": "memcached", "namespace": "victim"}
    assert texts(decide(seen(release, deleting=True))) == [f"finalizer off HelmBundle {NAMESPACE}/b"]
    dropped = {"keystone": {"namespace": "victim"}}
    plan = decide(seen({"name": "mc", "chart": "memcached"}, statuses=dropped))
    assert not any("victim" in text for text in texts(plan))


def test_a_dropped_release_is_uninstalled_where_it_was():
    release = {"name": "mc", "chart": "memcached", "namespace": "there"}
    status = decide(seen(release, ANY)).status["releaseStatuses"]
    assert status["mc"]["namespace"] == "there"
    plan = decide(seen({"name": "other", "chart": "memcached"}, ANY, statuses=status))
    assert "helm uninstall there/mc" in texts(plan)
    assert f"helm uninstall {NAMESPACE}/mc" not in texts(plan)
    moved = decide(seen({**release, "namespace": "elsewhere"}, ANY, statuses=status))
    assert texts(moved) == ["helm uninstall there/mc", "helm upgrade --install elsewhere/mc"]


def test_of_a_release_without_a_namespace_it_is_that_of_the_object():
    plan = decide(seen({"name": "other", "chart": "memcached"}, statuses={"mc": {}}))
    assert f"helm uninstall {NAMESPACE}/mc" in texts(plan)


def test_admission_looks_at_helm_bundles():
    assert HelmBundle in ADMITTED


@pytest.mark.parametrize("chart", ["--post-renderer=/tmp/x", "-f", "", "a b"])
def test_no_chart_is_an_option_of_helm(chart, tmp_path):
    with pytest.raises(ValidationError):
        HelmBundleSpec.model_validate({"releases": [{"name": "x", "chart": chart}]})
    with closing(HelmCli(tmp_path)) as helm, pytest.raises(Refused):
        helm.chart(chart)
