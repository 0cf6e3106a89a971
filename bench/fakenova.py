"""A nova-compute with Nova's own fake driver, beside those of the running cloud: room for hundreds of servers.

It is a pod with the image, the configuration and the credentials of the cloud's nova-compute; only the driver, and so
the hypervisor, is fake. Neutron binds ports only where it knows of a living agent, so it is told of one by a row in
its database, copied from a real agent's. Nothing of the cloud's own nodes is touched, and all of it goes at the end.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.options import BenchError, say
from stackwright.local import tools
from stackwright.local.config import LocalCluster

HOST = "bench-fake"
NAMESPACE = "openstack"
LIMIT = 240.0
CONFIG = f"[DEFAULT]\nhost = {HOST}\ncompute_driver = fake.FakeDriver\n"
COLUMNS = (
    "agent_type, `binary`, topic, availability_zone, admin_state_up, created_at, started_at, configurations, `load`,"
    " resource_versions"
)
AGENT = (
    f"INSERT INTO neutron.agents (id, host, heartbeat_timestamp, {COLUMNS})"
    f" SELECT UUID(), '{HOST}', '2099-01-01', {COLUMNS}"
    " FROM neutron.agents WHERE agent_type = 'Open vSwitch agent' LIMIT 1"
)
FORGET = f"DELETE FROM neutron.agents WHERE host = '{HOST}'"
FILES = ("--config-file", "/etc/nova/nova.conf", "--config-dir", "/etc/nova/nova.conf.d")


def kubectl(*words: str, stdin: str = "", limit: float = LIMIT) -> str:
    """Raises BenchError with what it said when it fails."""
    command = [tools.binary("kubectl"), "--kubeconfig", LocalCluster.discover().kubeconfig, *words]
    done = subprocess.run([str(word) for word in command], input=stdin, capture_output=True, text=True, timeout=limit)
    if done.returncode:
        raise BenchError(f"kubectl {' '.join(words)}: {done.stderr.strip()[-500:]}")
    return done.stdout


@contextmanager
def fake_compute(client: Any) -> Iterator[str]:
    """The availability zone in which servers get onto it. `client` is of openstacksdk, the administrator's."""
    _remove(client)
    try:
        say("starting a nova-compute with the fake driver")
        kubectl(
            "apply", "-n", NAMESPACE, "-f", "-", stdin=json.dumps({"kind": "List", "apiVersion": "v1", "items": _pod()})
        )
        _sql(AGENT)
        until("the fake nova-compute", lambda: any(each.state == "up" for each in _services(client)))
        discover = ("nova-manage", *FILES, "cell_v2", "discover_hosts", "--by-service")
        kubectl("exec", "-n", NAMESPACE, "nova-conductor-0", "-c", "nova-conductor", "--", *discover)
        yield f"nova:{HOST}"
    finally:
        _remove(client)


def spawned() -> dict[str, float]:
    """Id of a server → when its machine was there, just before Nova called it ACTIVE; seconds since the epoch."""
    found = {}
    for line in kubectl("logs", "-n", NAMESPACE, HOST, "--timestamps").splitlines():
        if "seconds to spawn the instance" in line:
            found[line.split("[instance: ")[1][:36]] = seconds(line.split()[0])
    return found


def seconds(stamp: str) -> float:
    """Of a container's log, which has nanoseconds."""
    from datetime import datetime

    return datetime.fromisoformat(stamp[:26] + "+00:00").timestamp()


def until(what: str, true: Callable[[], bool], limit: float = LIMIT, pause: float = 1.0) -> None:
    end = time.monotonic() + limit
    while not true():
        if time.monotonic() > end:
            raise BenchError(f"{what}: not within {limit:.0f} s")
        time.sleep(pause)


def _pod() -> list[Any]:
    made = json.loads(kubectl("get", "daemonset", "nova-compute", "-n", NAMESPACE, "-o", "json"))
    template = made["spec"]["template"]["spec"]
    real = next(each for each in template["containers"] if each["name"] == "nova-compute")
    kept = ("tmp", "etc", "bin", "snippets", "ceph")
    volumes = [each for each in template["volumes"] if each["name"] in kept]
    mounts = [each for each in real["volumeMounts"] if each["name"] in kept and "ssh" not in each["mountPath"]]
    volumes += [{"name": "fake", "configMap": {"name": HOST}}, {"name": "state", "emptyDir": {}}]
    mounts += [{"name": "fake", "mountPath": "/etc/nova/fake.d"}, {"name": "state", "mountPath": "/var/lib/nova"}]
    container = {
        "name": "nova-compute",
        "image": real["image"],
        "command": ["nova-compute", *FILES, "--config-dir", "/etc/nova/fake.d"],
        "volumeMounts": mounts,
        "securityContext": {"runAsUser": 0},  # credentials are readable by root only, as on a node
    }
    meta = {"name": HOST, "namespace": NAMESPACE}
    pod = {"containers": [container], "volumes": volumes, "restartPolicy": "Never", "enableServiceLinks": False}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"fake.conf": CONFIG}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**pod, "automountServiceAccountToken": False}},
    ]


def _services(client: Any) -> list[Any]:
    return [each for each in client.compute.services(binary="nova-compute") if each.host == HOST]


def _remove(client: Any) -> None:
    kubectl("delete", "-n", NAMESPACE, f"pod/{HOST}", f"configmap/{HOST}", "--ignore-not-found", "--grace-period=5")
    for service in _services(client):
        client.compute.delete_service(service)
    _sql(FORGET)


def _sql(statement: str) -> None:
    command = ("mariadb", "-umysql", "-S", "/run/mysqld/mysqld.sock", "-e", statement)
    kubectl("exec", "-n", NAMESPACE, "mariadb-server-0", "-c", "mariadb", "--", *command)
