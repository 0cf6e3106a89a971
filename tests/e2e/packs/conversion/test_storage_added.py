"""A running cloud gets storage. Images that would be lost are named and block the change; without them it continues."""

from __future__ import annotations

from typing import Any

from full import STORAGE, FullCloud
from harness import eventually
from storage import Ceph
from vms import Vms

from stackwright.smoke.stage import GUEST_IMAGE

NEW = ("openstack-ceph", "openstack-ceph-rgw", "openstack-cinder", "openstack-etcd")
ALLOW = "stackwright.dev/orphan"


def ready(cloud: FullCloud, kind: str) -> bool:
    return cloud.condition(kind=kind)["status"] == "True"


def store(cloud: FullCloud) -> dict[str, str]:
    return cloud.condition("Backends", "glances.stackwright.dev/glance")


def image(vms: Vms) -> Any:
    return vms.sdk.image.find_image(GUEST_IMAGE, ignore_missing=False)


def test_the_plan_names_new_services_and_the_image_that_would_be_lost(full_cloud: FullCloud) -> None:
    plan = full_cloud.stackwright("plan", "--file", STORAGE, code=2)
    for part in (*NEW, GUEST_IMAGE, ALLOW):
        assert part in plan


def test_a_store_with_an_image_is_kept_and_other_changes_continue(full_cloud: FullCloud, vms: Vms) -> None:
    def glance() -> tuple[set[str], int]:
        return set(full_cloud.pods("-l", "application=glance")), full_cloud.revisions()["openstack-glance"]

    before = glance()
    full_cloud.stackwright("apply", "--file", STORAGE, "--yes")
    eventually(lambda: store(full_cloud)["reason"] == "BlockedWouldOrphan", limit=120, pause=1)
    assert GUEST_IMAGE in store(full_cloud)["message"]
    eventually(lambda: ready(full_cloud, "cephs.stackwright.dev/ceph"), limit=300, pause=1)
    eventually(lambda: ALLOW in full_cloud.condition()["message"], limit=30)
    assert glance() == before
    held = image(vms)
    assert len(vms.sdk.image.download_image(held).content) == held.size


def test_then_images_and_disks_are_in_ceph(storage_cloud: FullCloud, vms: Vms) -> None:
    """The fixture deleted the blocking images, and `up` recreated them."""
    ceph, demo = Ceph(storage_cloud), vms.demo
    assert f"stackwright@{demo.floating}" in storage_cloud.said
    assert vms.ssh(demo, "hostname") == "demo"
    assert image(vms).id in ceph.rbd("ls", "images")
    assert f"{demo.id}_disk" in ceph.rbd("ls", "vms")
    assert "No changes" in storage_cloud.stackwright("plan")
