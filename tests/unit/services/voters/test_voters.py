"""Overrides never lower the number of voting servers, at any level."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from stackwright.admission.validate import errors_of
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.api.services.voters import DEFAULT, count_of
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.services.ceph.kind import Ceph
from stackwright.services.etcd.kind import Etcd
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.registry import SERVICES
from support.paths import ROOT

ONE, THREE, FIVE = ({"pod": {"replicas": {"server": count}}} for count in (1, 3, 5))
FIELD = "pod.replicas.server"
VOTING = [chart for service in SERVICES for chart in service.charts if chart.voters]
CHARTS = ROOT / "charts"


def cannot(new: int, old: int = 3) -> str:
    return f"cannot be reduced to {new}: {new} of {old} voting servers may have no majority; allowed: {old} or more"


def cloud(size: str, **more: Any) -> dict[str, Any]:
    spec = {"openstack_version": "epoxy", "preset": "core", "size": size, "features": {"services": ["coordination"]}}
    return {"kind": OpenStackDeployment.KIND.kind, "metadata": {"name": "x"}, "spec": spec | more}


def services(values: Any, service: str = "coordination", chart: str = "etcd") -> dict[str, Any]:
    return {"services": {service: {chart: {"values": values}}}}


def common(values: Any) -> dict[str, Any]:
    return {"common": {"infra": {"releases": {"etcd": {"values": values}}}}}


AT = "spec.services.coordination.etcd.values"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (cloud("tiny"), cloud("tiny", **services(ONE)), [f"{AT}.{FIELD}: {cannot(1)}"]),
        (
            cloud("tiny"),
            cloud("small", **services({"pod": {"replicas": {"server": 0}}})),
            [f"{AT}.{FIELD}: {cannot(0)}"],
        ),
        (
            cloud("tiny"),
            cloud("tiny", **services({"pod": {"replicas": {"server": None}}})),
            [f"{AT}.{FIELD}: {cannot(1)}"],
        ),
        (cloud("tiny"), cloud("tiny", **services({"pod": None})), [f"{AT}.{FIELD}: {cannot(1)}"]),
        (cloud("single", **services(THREE)), cloud("single"), [f"{AT}.{FIELD}: {cannot(1)}"]),
        (
            cloud("tiny"),
            cloud("tiny", **common(ONE)),
            [f"spec.common.infra.releases.etcd.values.{FIELD}: {cannot(1)}"],
        ),
        (
            cloud("tiny"),
            cloud("tiny", common={"infra": {"values": ONE}}),
            [f"spec.common.infra.values.{FIELD}: {cannot(1)}"] * 2,
        ),
        (
            cloud("tiny", **services(FIVE, "database", "mariadb")),
            cloud("tiny"),
            [f"spec.services.database.mariadb.values.{FIELD}: {cannot(3, 5)}"],
        ),
        (cloud("tiny"), cloud("tiny", **common(ONE), **services(THREE)), []),
        (cloud("single"), cloud("single", **services(THREE)), []),
        (cloud("single", **services(THREE)), cloud("tiny"), []),
        (cloud("single"), cloud("single", **services({"pod": {"replicas": {"server": 0}}})), []),
        (cloud("tiny", **services(ONE)), cloud("tiny", **services(ONE)), []),
        (cloud("tiny"), cloud("tiny", preset="nonsense"), None),
        ({"kind": "OpenStackDeployment", "spec": None}, cloud("tiny", **services(ONE)), []),
    ],
)
def test_an_override_of_a_cloud_that_lowers_them_is_refused_by_its_path(old: Any, new: Any, told: Any) -> None:
    found = errors_of(new, old)
    assert found == told if told is not None else not any("majority" in error for error in found)


def test_a_size_is_reported_once() -> None:
    (error,) = errors_of(cloud("single"), cloud("tiny"))
    assert error.startswith("spec.size: cannot be reduced to single")


@pytest.mark.parametrize(
    ("kind", "chart", "component"), [(Etcd, "etcd", "server"), (MariaDB, "mariadb", "server"), (Ceph, "ceph", "mon")]
)
def test_an_override_of_a_service_that_lowers_them_is_refused(kind: Any, chart: str, component: str) -> None:
    def service(*counts: int) -> dict[str, Any]:
        levels = [{"source": "me", "values": {chart: {"pod": {"replicas": {component: count}}}}} for count in counts]
        return {"kind": kind.KIND.kind, "metadata": {"name": "x"}, "spec": {"size": "tiny", "overrides": levels}}

    told = f"values.{chart}.pod.replicas.{component}: {cannot(1)}"
    assert errors_of(service(1), service()) == [f"spec.overrides[0].{told}"]
    assert errors_of(service(3, 1), service(3)) == [f"spec.overrides[1].{told}"]
    assert errors_of(service(1, 3), service(3)) == []
    assert errors_of(service(), service(1)) == []


def test_values_of_a_helmbundle_that_lower_them_are_refused() -> None:
    def bundle(*releases: tuple[str, str, Any]) -> dict[str, Any]:
        names = ("name", "chart", "values")
        spec = {"releases": [dict(zip(names, release, strict=True)) for release in releases]}
        return {"kind": HelmBundle.KIND.kind, "metadata": {"name": "x"}, "spec": spec}

    old = bundle(("a", "memcached", ONE), ("b", "etcd", THREE))
    assert errors_of(bundle(("b", "etcd", ONE)), old) == [f"spec.releases[0].values.{FIELD}: {cannot(1)}"]
    assert errors_of(bundle(("a", "memcached", {}), ("b", "etcd", {})), old) == [
        f"spec.releases[1].values.{FIELD}: {cannot(1)}"
    ]
    assert errors_of(bundle(("c", "etcd", ONE)), old) == []
    assert errors_of(bundle(("a", "etcd", ONE)), old) == []


@pytest.mark.parametrize("chart", VOTING, ids=lambda chart: chart.name)
def test_the_charts_have_so_many_by_themselves(chart: Any) -> None:
    values = yaml.safe_load((CHARTS / chart.name / "values.yaml").read_text())
    for part in chart.voters_field.split("."):
        values = values[part]
    assert values == DEFAULT


def test_all_components_with_volumes_and_votes_are_counted() -> None:
    assert {chart.name for chart in VOTING} == {"etcd", "mariadb", "ceph", "ovn"}


@pytest.mark.parametrize(("value", "count"), [(3, 3), (3.0, 3), (2.5, None), ("3", None), (None, None)])
def test_a_value_that_is_no_whole_number_sets_none(value: object, count: int | None) -> None:
    assert count_of(value) == count
