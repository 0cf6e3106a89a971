"""nova-computes with Nova's own fake driver, beside those of the running cloud: capacity for hundreds of servers.

They run in one pod with the image, configuration and credentials of the cloud's nova-compute; only the driver, and thus
the hypervisor, is fake. Several run in parallel, because each claims resources for one server at a time; periodic tasks
whose duration grows with the number of servers are disabled. Neutron binds ports only on hosts with a live agent, so
rows copied from a real agent are inserted into its database. The cloud's own nodes are not changed, and everything is
removed at the end.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from bench.options import BenchError, say
from bench.polling import until
from stackwright.local import tools
from stackwright.local.config import LocalCluster

POD = "bench-fake"
HOSTS = tuple(f"{POD}-{number}" for number in range(4))
NAMESPACE = "openstack"
LIMIT = 240.0
NEVER = ("update_resources_interval", "sync_power_state_interval", "heal_instance_info_cache_interval")
CONFIG = "[DEFAULT]\ncompute_driver = fake.FakeDriver\n" + "".join(f"{name} = -1\n" for name in NEVER)
COLUMNS = (
    "agent_type, `binary`, topic, availability_zone, admin_state_up, created_at, started_at, configurations, `load`,"
    " resource_versions"
)
AGENT = (
    f"INSERT INTO neutron.agents (id, host, heartbeat_timestamp, {COLUMNS})"
    f" SELECT UUID(), '%s', '2099-01-01', {COLUMNS}"
    " FROM neutron.agents WHERE agent_type = 'Open vSwitch agent' LIMIT 1"
)
FORGET = "DELETE FROM neutron.agents WHERE host = '%s'"
ACTIVE = (
    "SELECT UNIX_TIMESTAMP(NOW(6)), uuid FROM nova.instances WHERE deleted = 0 AND vm_state = 'active'"
    " AND updated_at >= UTC_TIMESTAMP() - INTERVAL 30 SECOND UNION ALL SELECT UNIX_TIMESTAMP(NOW(6)), '';\n"
)
SQL = ("mariadb", "-umysql", "-S", "/run/mysqld/mysqld.sock")
FILES = ("--config-file", "/etc/nova/nova.conf", "--config-dir", "/etc/nova/nova.conf.d")


def kubectl(*words: str, stdin: str = "", limit: float = LIMIT) -> str:
    """Raises BenchError with the standard error output if the command fails."""
    done = subprocess.run(command(*words), input=stdin, capture_output=True, text=True, timeout=limit)
    if done.returncode:
        raise BenchError(f"kubectl {' '.join(words)}: {done.stderr.strip()[-500:]}")
    return done.stdout


def command(*words: str) -> list[str]:
    return [str(each) for each in (tools.binary("kubectl"), "--kubeconfig", LocalCluster.discover().kubeconfig, *words)]


@contextmanager
def fake_computes(client: Any) -> Iterator[list[str]]:
    """The availability zones that select these hosts. `client` is the administrator's connection of openstacksdk."""
    _remove(client)
    try:
        say(f"starting {len(HOSTS)} nova-computes with the fake driver")
        kubectl(
            "apply", "-n", NAMESPACE, "-f", "-", stdin=json.dumps({"kind": "List", "apiVersion": "v1", "items": _pod()})
        )
        for host in HOSTS:
            _sql(AGENT % host)
        until("the nova-computes", lambda: sum(each.state == "up" for each in _services(client)) == len(HOSTS), LIMIT)
        discover = ("nova-manage", *FILES, "cell_v2", "discover_hosts", "--by-service")
        kubectl("exec", "-n", NAMESPACE, "nova-conductor-0", "-c", "nova-conductor", "--", *discover)
        yield [f"nova:{host}" for host in HOSTS]
    finally:
        _remove(client)


class Actives:
    """Id of a server → last time (epoch seconds) at which Nova's database showed that it was not ACTIVE yet.

    One persistent client queries it ten times a second. Nova's own timestamps have whole seconds only.
    """

    def __init__(self) -> None:
        self.since: dict[str, float] = {}
        self._before = time.time()
        words = ("exec", "-i", "-n", NAMESPACE, "mariadb-server-0", "-c", "mariadb", "--", *SQL, "-N", "--unbuffered")
        self._child = subprocess.Popen(command(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._ask, daemon=True).start()
        threading.Thread(target=self._read, daemon=True).start()

    def _ask(self) -> None:
        with suppress(OSError, ValueError):  # the client was closed
            while self._child.poll() is None and self._child.stdin:
                self._child.stdin.write(ACTIVE)
                self._child.stdin.flush()
                time.sleep(0.1)

    def _read(self) -> None:
        """An empty id ends the result of one query."""
        new, first = [], 0.0
        for line in self._child.stdout or ():
            at, id_ = [*line.split(), ""][:2]
            first = first or float(at)
            if id_:
                new.append(id_)
                continue
            for each in new:
                self.since.setdefault(each, self._before)
            self._before, new, first = first, [], 0.0

    def close(self) -> None:
        self._child.kill()
        self._child.wait()


def _pod() -> list[Any]:
    made = json.loads(kubectl("get", "daemonset", "nova-compute", "-n", NAMESPACE, "-o", "json"))
    template = made["spec"]["template"]["spec"]
    real = next(each for each in template["containers"] if each["name"] == "nova-compute")
    kept = ("tmp", "etc", "bin", "snippets", "ceph")
    volumes = [each for each in template["volumes"] if each["name"] in kept]
    mounts = [each for each in real["volumeMounts"] if each["name"] in kept and "ssh" not in each["mountPath"]]
    volumes += [{"name": "fake", "configMap": {"name": POD}}, {"name": "state", "emptyDir": {}}]
    mounts += [{"name": "fake", "mountPath": "/etc/nova/fake"}]
    containers = [
        {
            "name": host,
            "image": real["image"],
            "command": ["nova-compute", *FILES, "--config-file", f"/etc/nova/fake/{host}.conf"],
            "volumeMounts": [*mounts, {"name": "state", "mountPath": "/var/lib/nova", "subPath": host}],
            "securityContext": {"runAsUser": 0},  # only root can read the credentials, as on a node
        }
        for host in HOSTS
    ]
    meta = {"name": POD, "namespace": NAMESPACE}
    pod = {"containers": containers, "volumes": volumes, "restartPolicy": "Never", "enableServiceLinks": False}
    config = {f"{host}.conf": f"{CONFIG}host = {host}\n" for host in HOSTS}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": config},
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**pod, "automountServiceAccountToken": False}},
    ]


def _services(client: Any) -> list[Any]:
    return [each for each in client.compute.services(binary="nova-compute") if each.host in HOSTS]


def _remove(client: Any) -> None:
    kubectl("delete", "-n", NAMESPACE, f"pod/{POD}", f"configmap/{POD}", "--ignore-not-found", "--grace-period=5")
    for service in _services(client):
        client.compute.delete_service(service)
    for host in HOSTS:
        _sql(FORGET % host)


def _sql(statement: str) -> None:
    kubectl("exec", "-n", NAMESPACE, "mariadb-server-0", "-c", "mariadb", "--", *SQL, "-e", statement)
