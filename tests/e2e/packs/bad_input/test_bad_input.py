"""Each wrong input gets a message with the field, the error and the allowed values, as docs/bad-input.md shows."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from harness import SMALL, Cloud, changed, eventually


def spec(**changes: Any) -> dict[str, Any]:
    return changed(SMALL, **changes)[-1]


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"featurs": {}}, ["spec.featurs", "unknown field", "features"]),
        ({"draft": "perhaps"}, ["spec.draft", "boolean"]),
        ({"openstack_version": "yoga"}, ["spec.openstack_version", "yoga", "epoxy"]),
        ({"preset": "storage"}, ["spec.preset", "storage", "core"]),
        ({"features": {"octavia": {}}}, ["octavia", "not supported by this version"]),
        ({"services": {"identity": {"keystne": {"values": {}}}}}, ["keystne", "unknown chart", "keystone"]),
        ({"services": {"identitty": {}}}, ["identitty", "unknown service", "identity"]),
        (
            {"services": {"identity": {"keystone": {"values": {"pod": {"replicas": {"api": "three"}}}}}}},
            ["spec.services.identity.keystone.values.pod.replicas.api", "takes a whole number", "three"],
        ),
    ],
    ids=[
        "unknown field",
        "wrong type",
        "unknown release",
        "unknown preset",
        "unsupported",
        "chart",
        "service",
        "override",
    ],
)
def test_admission_refuses_and_names_the_field(cloud: Cloud, changes: dict[str, Any], parts: list[str]) -> None:
    before = cloud.osdpl()["metadata"]["resourceVersion"]
    out = cloud.apply(spec(**changes), code=1)
    for part in parts:
        assert part in out
    assert cloud.osdpl()["metadata"]["resourceVersion"] == before


def test_all_errors_are_reported_together_before_anything_is_applied(cloud: Cloud, tmp_path: Any) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump(spec(featurs={}, size="huge", draft=[1], features={"octavia": {}})))
    out = cloud.stackwright("apply", "-f", str(path), code=1)
    for part in ("spec.featurs", "spec.size", "spec.draft", "spec.features.octavia"):
        assert part in out


def test_a_missing_secret_is_named_and_waited_for(cloud: Cloud) -> None:
    reference = {"value_from": {"secret_key_ref": {"name": "not-there", "key": "password"}}}
    values = {"conf": {"keystone": {"ldap": {"password": reference}}}}
    cloud.apply(spec(services={"identity": {"keystone": {"values": values}}}))
    eventually(lambda: cloud.condition()["reason"] == "BlockedMissingSecret", limit=30)
    message = cloud.condition()["message"]
    assert "key password of Secret openstack/not-there" in message
    assert "spec.services" in message
    events = cloud.kubectl("get", "events", "-n", "openstack", "--field-selector", "reason=BlockedMissingSecret")
    assert "Secret openstack/not-there" in events, "an Event, for something happened"
    cloud.apply(spec())
    cloud.wait_ready()


def test_a_missing_node_label_is_named_with_its_remedy(cloud: Cloud) -> None:
    cloud.kubectl("label", "node", "--all", "openstack-control-plane-")
    eventually(lambda: cloud.condition()["reason"] == "BlockedNoNode", limit=30)
    assert "kubectl label node NODE openstack-control-plane=enabled" in cloud.condition()["message"]
    cloud.kubectl("label", "node", "node1", "openstack-control-plane=enabled")
    cloud.wait_ready()


def test_values_that_break_the_chart_are_reported_and_the_running_release_stays(cloud: Cloud) -> None:
    """Their types are correct, so they are admitted; only a template finds that such an option does not exist."""
    before = cloud.revisions()
    values = {"conf": {"keystone": {"token": {"allow_rescope": {"type": "many", "values": ["true"]}}}}}
    cloud.apply(spec(services={"identity": {"keystone": {"values": values}}}))
    eventually(lambda: cloud.condition()["status"] == "False" and "type many" in cloud.condition()["message"], limit=60)
    assert cloud.revisions() == before
    assert cloud.token(), "the cloud goes on"
    cloud.apply(spec())
    cloud.wait_ready()


def test_values_that_kubernetes_rejects_are_reported_and_the_running_release_stays(cloud: Cloud) -> None:
    """The chart accepts them, so Helm has a record of the attempt."""

    def pods() -> set[str]:
        found = cloud.get("pods", "-n", "openstack", "-l", "application=keystone,component=api")["items"]
        return {pod["metadata"]["uid"] for pod in found if not pod["metadata"].get("deletionTimestamp")}

    before = pods()
    values = {"pod": {"resources": {"api": {"requests": {"memory": "lots"}}}}}
    cloud.apply(spec(services={"identity": {"keystone": {"values": values}}}))
    eventually(lambda: "quantities must match" in cloud.condition()["message"], limit=180)
    assert "quantities must match" in cloud.stackwright("plan", code=None)
    assert pods() == before
    assert cloud.token(), "the cloud goes on"
    cloud.apply(spec())
    cloud.wait_ready()
    assert pods() == before


def test_a_missing_image_is_named_until_the_spec_names_another_one(cloud: Cloud) -> None:
    values = {"images": {"tags": {"keystone_client": "stackwright.local/nothing:1"}}}
    body = spec(services={"identity": {"keystoneclient": {"values": values}}})
    cloud.apply(body)
    eventually(lambda: "cannot pull stackwright.local/nothing:1" in cloud.condition()["message"], limit=60)
    cloud.apply(spec())
    cloud.wait_ready()


def test_a_release_that_is_not_ready_in_time_is_rolled_back_with_its_cause(cloud: Cloud) -> None:
    """A HelmBundle alone, with a short timeout: the old revision continues, and the bad one is not retried."""
    image = cloud.get("configmap", "stackwright-images", "-n", "stackwright")["data"]["images.json"]
    good = yaml.safe_load(image)["memcached"]

    def bundle(reference: str) -> dict[str, Any]:
        release = {"name": "cache", "chart": "memcached", "timeout": 30}
        release["values"] = {"images": {"tags": {"memcached": reference}}}
        meta = {"name": "cache", "namespace": "bundle-only"}
        return {
            "apiVersion": "lcm.mirantis.com/v1alpha1",
            "kind": "HelmBundle",
            "metadata": meta,
            "spec": {"releases": [release]},
        }

    def ready() -> dict[str, str]:
        conditions = cloud.get("helmbundle", "cache", "-n", "bundle-only").get("status", {}).get("conditions", [])
        return next((c for c in conditions if c["type"] == "Ready"), {"status": "Unknown", "reason": "", "message": ""})

    cloud.kubectl("create", "namespace", "bundle-only")
    try:
        cloud.apply(bundle(good))
        eventually(lambda: ready()["status"] == "True", limit=60)
        cloud.apply(bundle("stackwright.local/nothing:1"))
        eventually(lambda: ready()["reason"] == "BlockedRolledBack", limit=90)
        assert "stackwright.local/nothing:1" in ready()["message"]
        assert "rolled back to revision 1" in ready()["message"]
        running = cloud.get("statefulset", "memcached", "-n", "bundle-only")
        assert running["spec"]["template"]["spec"]["containers"][0]["image"] == good
        cloud.apply(bundle(good))
        eventually(lambda: ready()["status"] == "True", limit=90)
        cloud.kubectl("delete", "helmbundle", "cache", "-n", "bundle-only")
        eventually(lambda: cloud.left("bundle-only") == [], limit=60)
    finally:
        cloud.kubectl("delete", "namespace", "bundle-only", limit=120)
