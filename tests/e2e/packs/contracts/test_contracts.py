"""The requests of a separate service to the cloud, and the keys that the operator rotates."""

from __future__ import annotations

import json

from harness import Cloud, eventually

EXAMPLE = "examples/catalog-entry.yaml"
KINDS = ("databaseaccount/inventory", "messagingaccount/inventory", "keystoneservice/inventory")


def openstack(cloud: Cloud, *words: str) -> str:
    return cloud.stackwright("shell", "--", "openstack", *words, limit=60)


def test_contracts_are_fulfilled_by_the_real_services_and_revoked(cloud: Cloud) -> None:
    cloud.kubectl("apply", "--server-side", "-f", EXAMPLE)
    for kind in KINDS:
        cloud.kubectl("wait", "--for=condition=Ready", kind, "-n", "openstack", "--timeout=90s")
    assert "inventory" in openstack(cloud, "service", "list")
    assert "http://inventory.cloud.example" in openstack(cloud, "endpoint", "list", "--service", "inventory")
    assert "inventory" in databases(cloud)
    assert "inventory" in users(cloud)
    assert "inventory" in vhosts(cloud)

    cloud.kubectl("delete", *KINDS, "-n", "openstack", limit=90)
    assert "inventory" not in openstack(cloud, "service", "list")
    assert "inventory" in databases(cloud), "a database is dropped on request only"
    assert "inventory" not in users(cloud)
    assert "inventory" not in vhosts(cloud)


def test_a_service_account_logs_in_with_the_values_of_its_secret(cloud: Cloud) -> None:
    cloud.kubectl("apply", "--server-side", "-f", EXAMPLE)
    cloud.kubectl("wait", "--for=condition=Ready", KINDS[2], "-n", "openstack", "--timeout=90s")
    password = cloud.secret("inventory-identity")
    script = (
        "read -r OS_PASSWORD; export OS_PASSWORD; "
        "openstack --os-cloud '' --os-auth-type password --os-auth-url http://keystone-api:5000/v3 "
        "--os-username inventory --os-project-name service --os-user-domain-name Default "
        "--os-project-domain-name Default --os-identity-api-version 3 token issue -f json"
    )
    pod = ("exec", "-i", "-n", "openstack", "deployment/keystone-client", "--", "sh", "-c", script)
    assert json.loads(cloud.kubectl(*pod, stdin=password + "\n"))["id"]

    roles = ("role", "assignment", "list", "--names", "--user", "inventory", "--project", "service", "-f", "value")
    before = openstack(cloud, *roles, "-c", "Role").split()
    change = {"spec": {"roles": ["service"]}}
    cloud.kubectl("patch", KINDS[2], "-n", "openstack", "--type=merge", "-p", json.dumps(change))
    assert before != ["service"]
    eventually(lambda: openstack(cloud, *roles, "-c", "Role").split() == ["service"], limit=60)
    cloud.kubectl("delete", *KINDS, "-n", "openstack", limit=90)


def test_fernet_keys_rotate_and_old_tokens_stay_valid(cloud: Cloud) -> None:
    token = cloud.token()["id"]
    keys = repository(cloud)
    annotate = ("annotate", "--overwrite", "secret", "keystone-fernet-keys", "-n", "openstack")
    cloud.kubectl(*annotate, "stackwright.dev/rotated-at=1")
    eventually(lambda: repository(cloud) != keys, limit=30)
    turned = repository(cloud)
    assert turned[str(len(keys))] == keys["0"], "the staged key became the primary"
    # The old token with the rotated keys; by environment, because a token is a secret, too.
    script = "read -r OS_TOKEN; export OS_TOKEN; openstack --os-cloud '' --os-auth-type token "
    script += "--os-auth-url http://keystone-api:5000/v3 --os-project-name admin --os-project-domain-name Default "
    script += "--os-identity-api-version 3 token issue -f value -c project_id"
    pod = ("exec", "-i", "-n", "openstack", "deployment/keystone-client", "--", "sh", "-c", script)
    assert cloud.token()["project_id"] in cloud.kubectl(*pod, stdin=token + "\n")


def test_a_database_password_is_rotated_by_deleting_its_secret(cloud: Cloud) -> None:
    """The steps are those of docs/howto/rotate-keys.md."""
    before = cloud.get("secret", "keystone-database", "-n", "openstack")["data"]["password"]
    cloud.kubectl("delete", "secret", "keystone-database", "-n", "openstack")
    eventually(lambda: cloud.get("secret", "keystone-database", "-n", "openstack")["data"]["password"] != before)
    cloud.wait_ready()
    cloud.kubectl("rollout", "restart", "deployment/keystone-api", "-n", "openstack")
    cloud.kubectl("rollout", "status", "deployment/keystone-api", "-n", "openstack", "--timeout=90s")
    assert cloud.token()


def repository(cloud: Cloud) -> dict[str, str]:
    return dict(cloud.get("secret", "keystone-fernet-keys", "-n", "openstack")["data"])


def databases(cloud: Cloud) -> str:
    return cloud.sql("show databases")


def users(cloud: Cloud) -> str:
    return cloud.sql("select user from mysql.user")


def vhosts(cloud: Cloud) -> str:
    words = ("exec", "-n", "openstack", "rabbitmq-server-0", "--", "rabbitmqctl", "-q", "list_vhosts")
    return cloud.kubectl(*words)
