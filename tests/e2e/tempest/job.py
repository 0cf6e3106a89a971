"""The Job that runs Tempest, and the ConfigMap of its pod's files. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackwright.core.openstack.deployed.access import ADMIN_SECRET, CA_KEY, TLS_SECRET
from tempest import conf
from tempest.facts import Facts

NAME = "tempest"
POD = Path(__file__).with_name("pod")
MOUNT = "/opt/tempest"
USER = 42480
# Tempest waits ten seconds before it deletes a subnet, two dozen times, so more tests than processors run in parallel.
CONCURRENCY = 3
LIMIT = 2400
TRUSTED = "/etc/ssl/certs/ca-certificates.crt"  # for a client without an option: that of Heat's plug-in


@dataclass(frozen=True)
class Order:
    """image    reference of the container image
    select   regular expression of tests; `smoke` is a tag, and tags are part of a test's id
    exclude  text of an exclude-list
    """

    image: str
    select: str
    exclude: str


def config_map(facts: Facts, order: Order, namespace: str) -> dict[str, Any]:
    files = {path.name: path.read_text() for path in sorted(POD.iterdir()) if path.is_file()}
    data = {**files, "tempest.conf": conf.text(facts), "exclude": order.exclude}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(namespace), "data": data}


def job(facts: Facts, order: Order, namespace: str) -> dict[str, Any]:
    template = {"metadata": {"labels": _labels()}, "spec": _pod(facts, order)}
    spec = {"backoffLimit": 0, "activeDeadlineSeconds": LIMIT, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": _metadata(namespace), "spec": spec}


def _metadata(namespace: str) -> dict[str, Any]:
    return {"name": NAME, "namespace": namespace, "labels": _labels()}


def _labels() -> dict[str, str]:
    return {"application": NAME, "component": "tests"}


def _pod(facts: Facts, order: Order) -> dict[str, Any]:
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 2,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        # The public names do not exist in the internet.
        "hostAliases": [{"ip": facts.address, "hostnames": facts.hosts}],
        "securityContext": {
            "runAsUser": USER,
            "runAsGroup": USER,
            "runAsNonRoot": True,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
            # Echo requests without a privilege, for this pod's network alone.
            "sysctls": [{"name": "net.ipv4.ping_group_range", "value": f"{USER} {USER}"}],
        },
        "containers": [_container(order)],
        "volumes": [
            {"name": "home", "emptyDir": {}},
            {"name": "tmp", "emptyDir": {}},
            {"name": "files", "configMap": {"name": NAME, "defaultMode": 0o555}},
            {"name": "ca", "secret": {"secretName": TLS_SECRET, "items": [{"key": CA_KEY, "path": "ca.crt"}]}},
        ],
    }


def _container(order: Order) -> dict[str, Any]:
    password = {"secretKeyRef": {"name": ADMIN_SECRET, "key": "password"}}
    return {
        "name": NAME,
        "image": order.image,
        "command": [f"{MOUNT}/run.sh"],
        "env": [
            *({"name": name, "valueFrom": password} for name in conf.PASSWORDS),
            {"name": "SELECT", "value": order.select},
            {"name": "CONCURRENCY", "value": str(CONCURRENCY)},
            {"name": "PREFIX", "value": conf.PREFIX},
            {"name": "HOME", "value": conf.HOME},
            {"name": "SSL_CERT_FILE", "value": conf.CA},
            {"name": "PATH", "value": f"{MOUNT}:/usr/sbin:/usr/bin:/sbin:/bin"},
        ],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "home", "mountPath": conf.HOME},
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "files", "mountPath": MOUNT, "readOnly": True},
            {"name": "ca", "mountPath": str(Path(conf.CA).parent), "readOnly": True},
            {"name": "ca", "mountPath": TRUSTED, "subPath": "ca.crt", "readOnly": True},
        ],
    }
