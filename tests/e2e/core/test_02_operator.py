"""One command creates a cloud, and users can use it."""

from __future__ import annotations

import json

from harness import Cloud


def test_the_cloud_issues_a_token(cloud: Cloud) -> None:
    assert {"id", "project_id", "user_id", "expires"} <= set(cloud.token())


def test_plan_finds_nothing_to_change_and_starts_no_helm(cloud: Cloud) -> None:
    before = cloud.revisions()
    assert "No changes" in cloud.stackwright("plan")
    assert cloud.revisions() == before


def test_status_is_a_tree_from_the_cloud_to_its_pods(cloud: Cloud) -> None:
    assert "Pod mariadb-server-0" not in cloud.stackwright("status"), "what is ready is folded"
    out = cloud.stackwright("status", "--all")
    for part in ("OpenStackDeployment openstack/cloud", "Keystone openstack/keystone", "release openstack-keystone"):
        assert part in out
    assert "Pod mariadb-server-0" in out
    (tree,) = json.loads(cloud.stackwright("status", "--output", "json"))["clouds"]
    assert (tree["kind"], tree["namespace"], tree["name"], tree["ready"]) == (
        "OpenStackDeployment",
        "openstack",
        "cloud",
        True,
    )


def test_kubectl_explains_every_field(cloud: Cloud) -> None:
    out = cloud.kubectl("explain", "osdpl.spec.size")
    assert "Size of the cloud" in out
    assert "single" in out
    assert "medium" in out
    refused = cloud.kubectl("explain", "osdpl.spec.features.octavia")
    assert "Not supported by this version" in refused


def test_the_operator_has_no_wildcard_and_no_secret_in_its_logs(cloud: Cloud) -> None:
    rules = cloud.get("clusterrole", "stackwright")["rules"]
    assert not any("*" in (*r.get("verbs", ()), *r.get("resources", ()), *r.get("apiGroups", ())) for r in rules)
    logs = cloud.stackwright("logs", "operator", "--tail", "2000")
    for name in ("keystone-admin", "mariadb-root", "rabbitmq-admin", "keystone-database"):
        password = cloud.secret(name)
        assert len(password) == 32
        assert password not in logs


def test_no_helm_value_holds_a_password(cloud: Cloud) -> None:
    bundles = json.dumps(cloud.get("helmbundles", "-n", "openstack"))
    for name in ("keystone-admin", "mariadb-root", "rabbitmq-admin", "keystone-database"):
        password = cloud.secret(name)
        assert password not in bundles


def test_mariadb_is_durable_and_galera_is_on(cloud: Cloud) -> None:
    query = "select concat_ws(' ', @@innodb_flush_log_at_trx_commit, @@innodb_doublewrite, @@wsrep_on)"
    out = cloud.sql(query)
    assert out.split()[-3:] == ["1", "ON", "ON"], out


def test_a_concurrent_change_of_a_row_waits_and_does_not_fail(cloud: Cloud) -> None:
    """OpenStack retries only errors that it recognises as a deadlock."""
    cloud.sql("create database meanwhile; create table meanwhile.one (n int); insert into meanwhile.one values (0)")
    try:
        with cloud.sql_session() as ask:
            assert ask("start transaction; select n from meanwhile.one") == "0"
            cloud.sql("update meanwhile.one set n = n + 1")
            assert ask("update meanwhile.one set n = n + 1; commit; select 'done'") == "done"
        assert cloud.sql("select n from meanwhile.one").split() == ["2"]
    finally:
        cloud.sql("drop database meanwhile")
