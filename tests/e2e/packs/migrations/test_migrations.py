"""The first migration of each service, killed again and again, ends with the schema of an undisturbed one.

The Jobs' own pods run against another MariaDB of the same image, whose result is compared with the cloud's database.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from full import FullCloud
from harness import eventually

SERVER = "torn-database"
START = """set -e
mariadb-install-db --no-defaults --datadir=/data/db --skip-test-db >/dev/null
exec mariadbd --no-defaults --datadir=/data/db --socket=/data/socket --skip-grant-tables --bind-address=0.0.0.0 \\
    --innodb-flush-log-at-trx-commit=0"""
DATABASES = {
    "neutron": ("neutron",),
    "nova": ("nova_api", "nova", "nova_cell0"),
    "keystone": ("keystone",),
    "glance": ("glance",),
    "placement": ("placement",),
    "cinder": ("cinder",),
}
KILLS = {service: 10 if service == "neutron" else 2 for service in DATABASES}
SCHEMA = """
select 'column', table_schema, table_name, column_name, ordinal_position, column_type, is_nullable, column_default
from information_schema.columns where table_schema in ({names});
select 'index', table_schema, table_name, index_name, seq_in_index, column_name, non_unique
from information_schema.statistics where table_schema in ({names});
select 'constraint', table_schema, table_name, constraint_name, constraint_type
from information_schema.table_constraints where table_schema in ({names});
"""
COLUMNS = "select count(*) from information_schema.columns where table_schema in ({names})"


def quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def schema(sql: Callable[[str], str], names: tuple[str, ...]) -> list[str]:
    """A line for each column, index and constraint of the databases."""
    return sorted(sql(" ".join(SCHEMA.format(names=quoted(names)).split())).splitlines())


class Server:
    """A MariaDB that accepts every password, in a pod of its own."""

    def __init__(self, cloud: FullCloud) -> None:
        self.cloud = cloud

    def start(self) -> None:
        mariadb = self.cloud.get("pod", "mariadb-server-0", "-n", self.cloud.namespace)["spec"]
        container = {
            "name": "mariadb",
            "image": mariadb["containers"][0]["image"],
            "command": ["bash", "-c", START],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }
        spec = {
            "containers": [container],
            "securityContext": mariadb["securityContext"],
            "nodeSelector": mariadb["nodeSelector"],
            "volumes": [{"name": "data", "emptyDir": {}}],
        }
        self.cloud.apply(self._object("Pod", SERVER, spec=spec, labels={"torn": "database"}))
        self.cloud.apply(
            self._object("Service", SERVER, spec={"selector": {"torn": "database"}, "ports": [{"port": 3306}]})
        )
        eventually(lambda: self.sql("select 1") == "1", limit=120, pause=1)

    def stop(self) -> None:
        words = ("-n", self.cloud.namespace, "--ignore-not-found", "--grace-period=0", "--force")
        self.cloud.kubectl("delete", f"pod/{SERVER}", f"service/{SERVER}", *words)

    def sql(self, text: str) -> str:
        return self._run(f"mariadb --no-defaults -NBS /data/socket -e {json.dumps(text)}").strip()

    def wait_for_columns(self, names: tuple[str, ...], count: int) -> None:
        query = json.dumps(COLUMNS.format(names=quoted(names)))
        count_of_columns = f"$(mariadb --no-defaults -NBS /data/socket -e {query})"
        self._run(f"until [ {count_of_columns} -ge {count} ]; do sleep 0.1; done")

    def _run(self, script: str) -> str:
        words = ("-n", self.cloud.namespace, SERVER, "-c", "mariadb", "--", "bash", "-c", script)
        return self.cloud.kubectl("exec", *words, limit=300)

    def _object(self, kind: str, name: str, labels: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self.cloud.namespace, "labels": labels or {}}
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


class Migration:
    """The pod of a service's db-sync Job, with the other server in its configuration."""

    def __init__(self, cloud: FullCloud, service: str) -> None:
        self.cloud, self.pod = cloud, f"torn-{service}"
        labels = f"application={service},component=db-sync"
        (job,) = cloud.get("jobs", "-n", cloud.namespace, "-l", labels)["items"]
        self.spec = job["spec"]["template"]["spec"]
        # Keystone's Job also creates the administrator, and its caches are those of the cloud.
        self.spec["containers"] = self.spec.pop("initContainers", None) or self.spec["containers"]
        self.secrets: list[str] = []
        for volume in self.spec["volumes"]:
            for source in volume.get("projected", {}).get("sources", []):
                if any(item["key"] == "database.conf" for item in source["secret"].get("items", [])):
                    source["secret"]["name"] = self._redirect(source["secret"]["name"])

    def _redirect(self, name: str) -> str:
        """Creates a copy of the Secret that names the other server, and returns the copy's name."""
        copy = f"torn-{name}"
        changed, count = re.subn(r"@[^/]+/", f"@{SERVER}:3306/", self.cloud.secret(name, "database.conf"))
        assert count == 1, "one URL"
        metadata = {"name": copy, "namespace": self.cloud.namespace}
        self.cloud.apply(
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"database.conf": changed}}
        )
        self.secrets.append(copy)
        return copy

    def start(self) -> None:
        metadata = {"name": self.pod, "namespace": self.cloud.namespace}
        self.cloud.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": self.spec})

    def kill(self) -> None:
        words = ("-n", self.cloud.namespace, "--ignore-not-found", "--grace-period=0", "--force")
        self.cloud.kubectl("delete", "pod", self.pod, *words)

    def wait(self) -> None:
        words = ("-n", self.cloud.namespace, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=280s")
        self.cloud.kubectl("wait", f"pod/{self.pod}", *words, limit=300)

    def remove(self) -> None:
        self.kill()
        self.cloud.kubectl("delete", "secret", *self.secrets, "-n", self.cloud.namespace, "--ignore-not-found")


@pytest.fixture(scope="module")
def server(storage_cloud: FullCloud) -> Iterator[Server]:
    made = Server(storage_cloud)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def migration(storage_cloud: FullCloud, service: str) -> Iterator[Migration]:
    made = Migration(storage_cloud, service)
    try:
        yield made
    finally:
        made.remove()


@pytest.mark.parametrize("service", DATABASES)
def test_killed_first_migration_ends_with_the_same_schema(
    storage_cloud: FullCloud, server: Server, migration: Migration, service: str
) -> None:
    names = DATABASES[service]
    expected = schema(storage_cloud.sql, names)
    columns = sum(line.startswith("column\t") for line in expected)
    assert columns > 20
    for name in names:
        made = storage_cloud.sql(f"show create database {name}").partition("\t")[2]
        server.sql(made.replace("`", ""))
    for number in range(1, KILLS[service] + 1):
        migration.start()
        server.wait_for_columns(names, columns * number // (KILLS[service] + 1))
        migration.kill()
    migration.start()
    migration.wait()
    assert schema(server.sql, names) == expected
