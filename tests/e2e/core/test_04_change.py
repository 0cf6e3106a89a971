"""A change has exactly the planned effect; a wrong one is refused with its field, by each client."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from full import STORAGE, FullCloud
from harness import changed


def test_plan_shows_the_effect_of_an_override_and_apply_does_just_that(cloud: FullCloud) -> None:
    services = values("identity", "keystone", conf={"keystone": {"token": {"expiration": 7200}}})
    before = cloud.revisions()

    plan = cloud.plan(services=services)
    assert "conf.keystone.token.expiration" in plan
    assert "43200 → 7200" in plan
    assert "spec.services" in plan
    assert "restarts: Deployment keystone-api" in plan
    for other in ("openstack-mariadb", "openstack-rabbitmq", "openstack-memcached", "openstack-keystoneclient"):
        assert other not in plan
    assert cloud.revisions() == before, "a plan changes nothing"

    cloud.change(services=services)
    assert "7200" in cloud.keystone_option("expiration")
    assert cloud.revisions() == {**before, "openstack-keystone": before["openstack-keystone"] + 1}
    assert "No changes" in cloud.stackwright("plan")


def test_a_change_by_kubectl_is_applied_and_reverted(cloud: FullCloud) -> None:
    """The same change as in the test above."""
    cloud.patch_spec({"services": None})
    cloud.wait_ready()
    assert "7200" not in cloud.keystone_option("expiration")
    assert cloud.token()
    assert "No changes" in cloud.stackwright("plan")


def values(service: str, chart: str, **found: Any) -> dict[str, Any]:
    return {service: {chart: {"values": found}}}


def neutron(**change: Any) -> dict[str, Any]:
    """features.neutron of the example with changes of its parts."""
    found = copy.deepcopy(changed(STORAGE)[-1]["spec"]["features"]["neutron"])
    for part, value in change.items():
        found[part] = {**found[part], **value} if isinstance(value, dict) else value
    return {"features": {"neutron": found}}


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda: {"services": values("image", "glanse")}, ["glanse", "unknown chart", "glance"]),
        (lambda: neutron(dns_servers="9.9.9.9"), ["dns_servers"]),
        (lambda: neutron(floating_network={"enabled": "perhaps"}), ["floating_network.enabled", "boolean"]),
        (lambda: neutron(floating_network={"physnet": "nowhere"}), ["floating_network", "nowhere", "physnet"]),
    ],
    ids=["unknown chart", "wrong type", "wrong type in depth", "missing physnet"],
)
def test_wrong_values_are_refused_by_name(cloud: FullCloud, change: Any, parts: list[str]) -> None:
    before = cloud.osdpl()["metadata"]["resourceVersion"]
    out = cloud.apply(changed(STORAGE, **change())[-1], code=1)
    for part in parts:
        assert part in out
    assert cloud.osdpl()["metadata"]["resourceVersion"] == before


def test_all_errors_are_reported_together_before_anything_is_applied(cloud: FullCloud, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump(changed(STORAGE, featurs={}, size="huge", draft=[1], features={"octavia": {}})[-1]))
    out = cloud.stackwright("apply", "-f", str(path), code=1)
    for part in ("spec.featurs", "spec.size", "spec.draft", "spec.features.octavia"):
        assert part in out
