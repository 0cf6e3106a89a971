"""A change reaches its target, by each way to write it in a spec."""

from __future__ import annotations

import pytest
import yaml
from harness import SMALL, Cloud, changed, eventually


@pytest.fixture
def manifest(tmp_path):
    def write(**spec) -> str:
        path = tmp_path / "cloud.yaml"
        path.write_text(yaml.safe_dump_all(changed(SMALL, **spec)))
        return str(path)

    return write


def test_common_reaches_all_charts_of_its_group_and_services_wins(cloud: Cloud, manifest) -> None:
    def conf(value: int) -> dict:
        return {"conf": {"keystone": {"token": {"expiration": value}}}}

    common = {"openstack": {"releases": {"keystone": {"values": conf(5000)}}}}
    services = {"identity": {"keystone": {"values": conf(6000)}}}
    cloud.stackwright("apply", "-f", manifest(common=common, services=services), "--wait")
    assert "6000" in cloud.keystone_option("expiration")
    plan = cloud.stackwright("plan", "-f", manifest(common=common), code=2)
    assert "6000 → 5000" in plan
    cloud.stackwright("apply", "-f", manifest(common=common), "--wait")
    assert "5000" in cloud.keystone_option("expiration")


def test_a_sensitive_option_reaches_the_pod_and_no_value(cloud: Cloud, manifest) -> None:
    cloud.kubectl("create", "secret", "generic", "directory", "-n", "openstack", "--from-literal=password=s3cr3t-word")
    reference = {"value_from": {"secret_key_ref": {"name": "directory", "key": "password"}}}
    services = {"identity": {"keystone": {"values": {"conf": {"keystone": {"ldap": {"password": reference}}}}}}}
    try:
        cloud.stackwright("apply", "-f", manifest(services=services), "--wait")
        assert "s3cr3t-word" in cloud.keystone_option("password")
        assert "s3cr3t-word" not in str(cloud.get("helmbundles,configmaps", "-n", "openstack"))
    finally:
        cloud.stackwright("apply", "-f", manifest(), "--wait")
        cloud.kubectl("delete", "secret", "directory", "-n", "openstack")
    assert "s3cr3t-word" not in cloud.keystone_option("password")


def test_audit_events_create_a_messaging_account_and_delete_it(cloud: Cloud, manifest) -> None:
    features = {"logging": {"cadf": {"enabled": True, "driver": "messagingv2"}}}
    cloud.stackwright("apply", "-f", manifest(features=features), "--wait")
    assert cloud.condition(kind="messagingaccount/keystone")["status"] == "True"
    assert "messagingv2" in cloud.keystone_option("driver")
    assert cloud.token()
    cloud.stackwright("apply", "-f", manifest(), "--wait")
    assert cloud.kubectl("get", "messagingaccounts", "-n", "openstack", "-o", "name").strip() == ""
    assert cloud.token()


def test_a_paused_cloud_applies_a_change_when_resumed_and_a_rollback_reverts_it(cloud: Cloud, manifest) -> None:
    services = {"identity": {"keystone": {"values": {"conf": {"keystone": {"token": {"expiration": 8000}}}}}}}
    before = cloud.revisions()
    cloud.stackwright("pause", "cloud")
    cloud.stackwright("apply", "-f", manifest(services=services))
    eventually(lambda: cloud.condition()["reason"] == "Paused")
    assert cloud.revisions() == before
    assert "8000" not in cloud.keystone_option("expiration")
    cloud.stackwright("resume", "cloud")
    cloud.stackwright("wait")
    assert "8000" in cloud.keystone_option("expiration")
    assert "spec.services" in cloud.stackwright("history", "--cloud", "cloud").splitlines()[-1]
    cloud.stackwright("rollback", "cloud", "--yes")
    assert "8000" not in cloud.keystone_option("expiration")
    assert cloud.token()
