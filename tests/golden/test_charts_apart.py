"""Servers with their own volumes: a local volume binds each to a node permanently, so they never share one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.api.services.kinds import ServiceSpec, Size
from stackwright.services.ceph import CephSettings
from stackwright.services.declaration import Context
from stackwright.services.registry import SERVICES
from stackwright.services.values import merged_values
from support.paths import ROOT
from tests.golden.test_charts import CASES, helm

WISH, MUST = "preferredDuringSchedulingIgnoredDuringExecution", "requiredDuringSchedulingIgnoredDuringExecution"
ALONE = {"rabbitmq"}  # its schema allows one server


def servers() -> dict[str, tuple[Path, str]]:
    """<chart>-<component> → the first golden case that has it."""
    found: dict[str, tuple[Path, str]] = {}
    for case in CASES:
        for item in yaml.load_all(case.with_name("rendered.yaml").read_text(), yaml.CSafeLoader):
            if item["kind"] == "StatefulSet" and item["spec"].get("volumeClaimTemplates"):
                component = item["metadata"]["labels"]["component"]
                found.setdefault(f"{case.parents[1].name}-{component}", (case, component))
    return {name: each for name, each in found.items() if each[0].parents[1].name not in ALONE}


SERVERS = ("ceph-mon", "ceph-osd", "etcd-server", "mariadb-server", "ovn-ovsdb")


def anti(case: Path, component: str, *values: str) -> set[str]:
    chart = case.parents[1].name
    done = helm("template", chart, str(ROOT / "charts" / chart), "--namespace=openstack", f"--values={case}", *values)
    assert done.returncode == 0, done.stderr
    (found,) = (
        item
        for item in yaml.safe_load_all(done.stdout)
        if item and item["kind"] == "StatefulSet" and item["metadata"]["labels"]["component"] == component
    )
    return set(found["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"])


def test_the_servers_with_volumes_are_known() -> None:
    assert sorted(servers()) == sorted(SERVERS)


@pytest.mark.parametrize("name", SERVERS)
def test_several_of_them_are_on_nodes_of_their_own(name: str) -> None:
    """However there came to be several: by the size, an OpenStackControlPlane, or an override."""
    case, component = servers()[name]
    replicas, default = f"--set=pod.replicas.{component}=", "--set=pod.affinity.anti.type.default="
    assert anti(case, component, f"{replicas}3", f"{default}null") == {MUST}
    assert anti(case, component, f"{replicas}1", f"{default}null") == {WISH}
    assert anti(case, component, f"{replicas}3", f"{default}{WISH}") == {WISH}


def test_the_charts_leave_it_open() -> None:
    for name in SERVERS:
        chart = servers()[name][0].parents[1].name
        values = yaml.safe_load((ROOT / "charts" / chart / "values.yaml").read_text())
        assert values["pod"]["affinity"]["anti"]["type"] == {"default": None}


def ceph(size: Size, osds: int | None = None) -> Any:
    declared = next(each for each in SERVICES if each.name == "ceph")
    context = Context("ceph", "openstack", ServiceSpec(size=size), {}, CephSettings(trial=True, osds=osds))
    return merged_values(declared, context, declared.charts[0])["pod"]


@pytest.mark.parametrize(
    ("size", "osds", "wanted"), [("single", None, WISH), ("single", 3, WISH), ("tiny", None, None), ("tiny", 6, WISH)]
)
def test_osds_share_a_node_only_if_there_may_be_too_few_nodes(size: Size, osds: int | None, wanted: str | None) -> None:
    found = ceph(size, osds)
    assert found.get("affinity", {}).get("anti", {}).get("type", {}).get("osd") == wanted
