"""An external Ceph: requested, awaited by name, used, observed, and left unchanged.

It is created manually in the shared namespace, with our chart, whose process `provide` replaces Rook or an
administrator. The small cloud gets images and volumes for it, and is deleted at the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from harness import ROOT, SMALL, Cloud, changed, eventually, run

from stackwright.local import tools

SHARED = "openstack-ceph-shared"
THREE = 3
AWAY = ("ingress", "compute", "networking", "placement", "dashboard")
LIMIT = 600


class Elsewhere:
    """The cloud and the Ceph, each as its administrator uses it."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def kubectl(self, *words: str, namespace: str = Cloud.namespace) -> str:
        return self.cloud.kubectl("-n", namespace, *words)

    def get_storage(self) -> None:
        """Add images and volumes to the spec."""
        services = [*(f"~{name}" for name in AWAY), "image", "block-storage"]
        text = yaml.safe_dump_all(changed(SMALL, features={"services": services}))
        self.cloud.kubectl("replace", "--filename", "-", stdin=text)

    def said(self, kind: str) -> str:
        """Reason and message of an object's condition."""
        told = self.cloud.condition(kind=kind)
        return f"{told['reason']}: {told['message']}"

    def ceph(self, *words: str) -> str:
        return self.kubectl("exec", "ceph-mon-0", "-c", "mon", "--", *words, namespace=SHARED)

    def openstack(self, *words: str) -> str:
        return self.kubectl("exec", "deploy/keystone-client", "--", "openstack", *words).strip()

    def install_ceph(self) -> None:
        """Install Ceph by helm, as its administrator."""
        self.kubectl("create", "secret", "generic", "ceph-admin", "--from-literal=password=of-nobody", namespace=SHARED)
        images = json.loads(self.kubectl("get", "cm", "stackwright-images", "-o", "json", namespace="stackwright"))
        image = json.loads(images["data"]["images.json"])["ceph"]
        size = f"pod.replicas.mon={THREE},pod.replicas.osd={THREE},pool.size={THREE},osd.size=5Gi"
        size += ",pod.affinity.anti.type.default=preferredDuringSchedulingIgnoredDuringExecution"  # on one node
        values = ("--set", f"images.tags.ceph={image},{size}", "--set-json", "secrets.clients=[]")
        config = ("--kubeconfig", str(self.cloud.cluster.kubeconfig), "--namespace", SHARED)
        done = run(tools.binary("helm"), "install", "ceph", ROOT / "charts/ceph", *config, *values)
        assert done.code == 0, done.out

    @contextmanager
    def only(self, daemon: str, left: int) -> Iterator[None]:
        """Run only this many of the three daemons."""
        scale = ("scale", f"statefulset/ceph-{daemon}")
        self.kubectl(*scale, f"--replicas={left}", namespace=SHARED)
        try:
            yield
        finally:
            self.kubectl(*scale, f"--replicas={THREE}", namespace=SHARED)

    def status(self) -> Any:
        return json.loads(self.ceph("ceph", "status", "--format", "json"))

    def wait_ready(self) -> None:
        self.cloud.wait_ready(limit=LIMIT)

    def volume(self, name: str) -> None:
        """Create a volume."""
        self.openstack("volume", "create", "--size", "1", name)
        eventually(lambda: self.openstack("volume", "show", name, "-f", "value", "-c", "status") == "available", 120)

    def key(self) -> str:
        return self.cloud.secret("cinder-ceph", "key")


@pytest.fixture(scope="module")
def elsewhere(cloud: Cloud) -> Iterator[Elsewhere]:
    made = Elsewhere(cloud)
    cloud.kubectl("delete", "namespace", SHARED, "--ignore-not-found", limit=300)  # of a killed run
    cloud.kubectl("create", "namespace", SHARED)
    try:
        made.get_storage()
        yield made
    finally:
        cloud.kubectl("delete", "namespace", SHARED, limit=300)
        if cloud.spec():
            cloud.remove()


def holds(check: Callable[[], str], *parts: str) -> None:
    def seen() -> bool:
        text = check()
        return all(part in text for part in parts)

    eventually(seen, limit=LIMIT, pause=1)


def test_the_cloud_reports_its_wait_and_writes_its_requests(elsewhere: Elsewhere) -> None:
    cause = "Secret openstack-ceph-shared/openstack-ceph-keys of Ceph: it does not exist"
    holds(lambda: elsewhere.said("cinder/cinder"), cause)
    asked = elsewhere.kubectl("get", "configmap", "openstack-ceph-requests", "-o", "json", namespace=SHARED)
    clients = json.loads(json.loads(asked)["data"]["requests.json"])["clients"]
    assert set(clients) == {"cinder", "glance"}


def test_it_uses_the_provided_keys(elsewhere: Elsewhere) -> None:
    elsewhere.install_ceph()
    elsewhere.wait_ready()
    elsewhere.volume("first")
    assert "volume-" in elsewhere.ceph("rbd", "ls", "volumes")


@pytest.mark.parametrize("daemon", ["mon", "osd"])
def test_with_two_of_three_it_continues_and_recovers(elsewhere: Elsewhere, daemon: str) -> None:
    def up() -> int:
        status = elsewhere.status()
        return len(status["quorum"]) if daemon == "mon" else int(status["osdmap"]["num_up_osds"])

    assert up() == THREE
    with elsewhere.only(daemon, THREE - 1):
        eventually(lambda: up() == THREE - 1, limit=120, pause=1)
        elsewhere.volume(f"without-one-{daemon}")
    # Ceph reports HEALTH_OK until it has detected the missing daemon.
    took = eventually(
        lambda: up() == THREE and elsewhere.status()["health"]["status"] == "HEALTH_OK", limit=LIMIT, pause=1
    )
    print(f"HEALTH_OK {took:.0f} s after the {daemon} may run again")


def test_a_new_key_is_followed_without_a_restart(elsewhere: Elsewhere) -> None:
    def pods() -> str:
        return elsewhere.kubectl("get", "pods", "-l", "application=cinder", "-o", "jsonpath={.items[*].metadata.uid}")

    before, pods_before = elsewhere.key(), pods()
    for step in ("get-or-create-pending", "commit-pending"):
        elsewhere.ceph("ceph", "auth", step, "client.cinder")
    took = eventually(lambda: elsewhere.key() != before, limit=120, pause=1)
    mounted = ("exec", "cinder-volume-0", "-c", "cinder-volume", "--", "cat", "/etc/ceph/keyring")
    there = eventually(lambda: elsewhere.key() in elsewhere.kubectl(*mounted), limit=180, pause=2)
    print(f"a new key is in the Secret after {took:.0f} s, and {there:.0f} s later in the pods")
    elsewhere.volume("second")
    assert pods() == pods_before


def test_a_rejected_key_and_an_absent_monitor_are_reported(elsewhere: Elsewhere) -> None:
    provide = ("scale", "deployment/ceph-provide")
    elsewhere.kubectl(*provide, "--replicas=0", namespace=SHARED)
    try:
        for step in ("get-or-create-pending", "commit-pending"):
            elsewhere.ceph("ceph", "auth", step, "client.glance")
        holds(lambda: elsewhere.said("openstackdeployment/cloud"), "WrongKey", "client.glance")
    finally:
        elsewhere.kubectl(*provide, "--replicas=1", namespace=SHARED)
    elsewhere.wait_ready()
    with elsewhere.only("mon", 1):
        holds(lambda: elsewhere.said("openstackdeployment/cloud"), "NoQuorum")
    elsewhere.wait_ready()


def test_a_deleted_cloud_withdraws_its_requests_and_leaves_the_data(elsewhere: Elsewhere) -> None:
    elsewhere.cloud.remove()
    words = ("get", "configmap", "openstack-ceph-requests", "--ignore-not-found", "-o", "name")
    eventually(lambda: not elsewhere.kubectl(*words, namespace=SHARED), limit=60)
    assert "volume-" in elsewhere.ceph("rbd", "ls", "volumes")
