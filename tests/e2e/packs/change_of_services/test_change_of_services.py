"""A change of the full cloud reaches only its target; an impossible change is reported by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from full import FullCloud
from harness import eventually
from traffic.pinger import CHANCE, Pinger
from vms import Vms

from stackwright.local.image import store


@contextmanager
def with_changes(cloud: FullCloud, **spec: Any) -> Iterator[set[str]]:
    """Apply changes of the cloud's spec, and yield the applications whose pods were started for them."""
    before = cloud.pods()
    try:
        cloud.change(**spec)
        after = cloud.pods()
        # The stopped pods belong to the same applications as the new ones: no other application was stopped.
        assert cloud.applications(before, after) <= cloud.applications(after, before)
        yield cloud.applications(after, before)
    finally:
        cloud.change()


def values(service: str, chart: str, **found: Any) -> dict[str, Any]:
    return {service: {chart: {"values": found}}}


def pod(cloud: FullCloud, application: str, component: str) -> str:
    (found,) = cloud.pods("-l", f"application={application},component={component}").values()
    return str(found["metadata"]["name"])


@contextmanager
def another_name(cloud: FullCloud, reference: str) -> Iterator[str]:
    """The same image under another tag, on all nodes."""
    name = f"{reference.rpartition(':')[0]}:another"
    sockets = [node.containerd_socket for node in cloud.nodes]
    for socket in sockets:
        store.ctr(cloud.cluster, socket, "images", "tag", "--force", reference, name)
        store.ctr(cloud.cluster, socket, "images", "label", name, *store.LABELS)
    try:
        yield name
    finally:
        for socket in sockets:
            store.ctr(cloud.cluster, socket, "images", "remove", name)


def test_a_changed_image_of_one_service_restarts_that_service_alone(full_cloud: FullCloud) -> None:
    (running,) = full_cloud.pods("-l", "application=glance,component=api").values()
    reference = running["spec"]["containers"][0]["image"]
    with another_name(full_cloud, reference) as name:
        tags = {"glance_api": name, "glance_db_sync": name}
        with with_changes(full_cloud, services=values("image", "glance", images={"tags": tags})) as restarted:
            assert restarted == {"glance"}
            (running,) = full_cloud.pods("-l", "application=glance,component=api").values()
            assert running["spec"]["containers"][0]["image"] == name


def test_a_changed_option_reaches_the_right_file_of_the_right_pods(full_cloud: FullCloud) -> None:
    services = values("image", "glance", conf={"glance": {"DEFAULT": {"limit_param_default": 31}}})
    services |= values("networking", "neutron", conf={"dhcp_agent": {"DEFAULT": {"dnsmasq_lease_max": 3100}}})
    with with_changes(full_cloud, services=services) as restarted:
        assert restarted == {"glance", "neutron"}
        glance = (pod(full_cloud, "glance", "api"), "glance-api", "limit_param_default")
        assert full_cloud.read(*glance, "/etc/glance/glance-api.conf") == "limit_param_default = 31"
        dhcp = (pod(full_cloud, "neutron", "dhcp-agent"), "neutron-dhcp-agent", "dnsmasq_lease_max")
        assert full_cloud.read(*dhcp, "/etc/neutron/dhcp_agent.ini") == "dnsmasq_lease_max = 3100"
        server = (pod(full_cloud, "neutron", "server"), "neutron-server", "dnsmasq_lease_max")
        assert full_cloud.read(*server, "/etc/neutron/neutron.conf") == ""


def test_a_label_on_no_node_is_named_and_daemonsets_follow_labels(full_cloud: FullCloud, vms: Vms) -> None:
    """The virtual machine keeps running without libvirt and nova-compute."""
    label = "openstack-compute-node=enabled"
    names = [node["metadata"]["name"] for node in full_cloud.get("nodes", "-l", label)["items"]]
    with Pinger(vms.demo.floating) as pinger:
        full_cloud.kubectl("label", "node", "--all", "openstack-compute-node-")
        try:
            eventually(lambda: full_cloud.condition()["reason"] == "BlockedNoNode", limit=60)
            assert f"kubectl label node NODE {label}" in full_cloud.condition()["message"]
            eventually(lambda: not full_cloud.pods("-l", "application=libvirt"), limit=120, pause=1)
        finally:
            full_cloud.kubectl("label", "node", *names, label)
        eventually(lambda: len(full_cloud.pods("-l", "application=libvirt")) == len(names), limit=60)
        full_cloud.wait_ready()
    assert pinger.lost() <= CHANCE


def test_a_removed_service_leaves_only_its_database_and_can_be_added_again(full_cloud: FullCloud, vms: Vms) -> None:
    services = ["~dashboard", "~placement"]
    providers = vms.providers()
    plan = full_cloud.plan(features={"services": services})
    for part in ("openstack-horizon", "openstack-placement", "kept: database placement of MariaDB"):
        assert part in plan
    for other in ("openstack-glance", "openstack-mariadb", "openstack-keystone"):
        assert other not in plan
    try:
        full_cloud.change(features={"services": services})
        eventually(lambda: full_cloud.traces("openstack", "horizon", "placement") == [], limit=120, pause=1)
        assert "placement" in full_cloud.sql("show databases").split(), "dropped on request only"
        assert "placement" not in full_cloud.sql("select user from mysql.user").split()
    finally:
        full_cloud.change()
    eventually(lambda: vms.providers() == providers, limit=60, pause=1)  # the database is unchanged
    assert "No changes" in full_cloud.stackwright("plan")
