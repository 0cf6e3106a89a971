"""Which pods an upgrade of the real charts restarts, by the real helm."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from stackwright.adapters.helm.command import HelmCli
from stackwright.core.helm.merge import merge
from stackwright.forecast.costs import objects
from stackwright.forecast.impact import Restart, restarts
from support.paths import GOLDEN
from tests.golden.test_charts import find_helm

VALUES = GOLDEN / "values/core-single.yaml"
SURGE = "new pods start before old ones end"
NOBODY = "the service is interrupted"


async def upgraded(release: str, chart: str, change: dict[str, Any], *pods: Any) -> tuple[Restart, ...]:
    values = yaml.safe_load(VALUES.read_text())[release]
    helm = HelmCli(binary=find_helm())
    try:
        both = [
            objects(await helm.render(chart, each, ("openstack", release)))
            for each in (values, merge(copy.deepcopy(values), change))
        ]
    finally:
        helm.close()
    return restarts(both[0], both[1] or (), pods)


async def test_the_operators_chart_is_rendered_although_it_requires_a_version_of_kubernetes() -> None:
    """`doctor` asks for the rights that an installation needs. This helm assumes an older version without a cluster."""
    helm = HelmCli(binary=find_helm())
    values = {"images": {"tags": {"stackwright": "registry.test/stackwright:1"}}}
    try:
        found = objects(await helm.render("stackwright", values, ("stackwright", "stackwright"))) or []
    finally:
        helm.close()
    assert "CustomResourceDefinition" in {each["kind"] for each in found}


async def test_options_restart_the_pods_that_read_them_and_no_other() -> None:
    found = await upgraded("openstack-keystone", "keystone", {"conf": {"keystone": {"token": {"expiration": 7}}}})
    assert Restart("Deployment", "keystone-api", "1 pod", SURGE) in found
    assert not any(each.away for each in found)
    assert await upgraded("openstack-keystone", "keystone", {}) == ()


async def test_more_replicas_restart_nothing() -> None:
    assert await upgraded("openstack-keystone", "keystone", {"pod": {"replicas": {"api": 3}}}) == ()


@pytest.mark.parametrize(
    ("release", "chart", "workload"),
    [
        ("openstack-mariadb", "mariadb", "mariadb-server"),
        ("openstack-rabbitmq", "rabbitmq", "rabbitmq-server"),
    ],
)
async def test_a_single_data_server_is_unavailable_while_it_restarts(release: str, chart: str, workload: str) -> None:
    images = {"images": {"tags": {chart: "registry/other:1"}}}
    assert Restart("StatefulSet", workload, "1 pod", NOBODY, away=True) in await upgraded(release, chart, images)


async def test_servers_of_a_database_that_share_a_node_are_named() -> None:
    labels = {"application": "mariadb", "component": "server"}
    pods = [{"metadata": {"name": f"s-{i}", "labels": labels}, "spec": {"nodeName": "x"}} for i in range(2)]
    found = await upgraded("openstack-mariadb", "mariadb", {"pod": {"replicas": {"server": 3}}}, *pods)
    assert [each.workload for each in found if "s-0 and s-1 share node x" in each.meanwhile] == [
        "StatefulSet mariadb-server"
    ]


async def test_what_a_replaced_engine_does_not_finish_is_told() -> None:
    helm = HelmCli(binary=find_helm())
    values = yaml.safe_load((GOLDEN / "charts/heat/default/values.yaml").read_text())
    slower = merge(copy.deepcopy(values), {"conf": {"heat": {"DEFAULT": {"num_engine_workers": 7}}}})
    try:
        both = [objects(await helm.render("heat", each, ("openstack", "openstack-heat"))) for each in (values, slower)]
    finally:
        helm.close()
    told = {each.name: each.meanwhile for each in restarts(both[0], both[1] or ())}
    assert "stays IN_PROGRESS" in told.pop("heat-engine")
    assert not any("IN_PROGRESS" in each for each in told.values())
