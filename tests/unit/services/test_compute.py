"""Values, contracts and conditions of Nova and its hypervisors, derived from a cloud."""

import json
from dataclasses import replace

import pytest

from stackwright.api.services.kinds import ServiceSpec, Size
from stackwright.services import nova
from stackwright.services.context import COMPUTE, Context, NodeRef, Values
from stackwright.services.nova import values as nova_values

SIZES: tuple[Size, ...] = ("single", "tiny", "small", "medium")
NODES = (NodeRef("node2", "10.0.0.2"), NodeRef("node1", "10.0.0.1"))


def context(size: Size = "single", nodes: tuple[NodeRef, ...] = NODES, **settings: object) -> Context:
    spec = ServiceSpec(size=size, public_domain="cloud.example")
    parsed = nova.SERVICE.settings.model_validate(settings)
    return Context("nova", "openstack", spec, {}, parsed, {"=".join(COMPUTE): nodes})


def values(chart: str, size: Size = "single", **settings: object) -> Values:
    (found,) = [item for item in nova.SERVICE.charts if item.name == chart]
    return found.values(context(size, **settings))


def pod(node: str, message: str, container: str = "kvm-check", code: int = 0) -> Values:
    ended = {"terminated": {"exitCode": code, "message": message}}
    status = {"initContainerStatuses": [{"name": container, "state": ended}]}
    return {"metadata": {"name": f"libvirt-{node}"}, "spec": {"nodeName": node}, "status": status}


def answer(virt_type: str, reason: str = "") -> str:
    return json.dumps({"address": "10.0.0.1", "virt_type": virt_type, "reason": reason})


def test_compute_nodes_are_the_hosts_that_are_waited_for() -> None:
    assert values("nova")["conf"]["hosts"] == ["node1", "node2"]


def test_an_api_never_has_a_single_worker_for_events_that_it_waits_for_itself() -> None:
    assert all(size.api_workers >= 2 for size in nova_values.SIZES.values())


@pytest.mark.parametrize("size", SIZES)
def test_every_deployment_has_a_number_of_pods(size: Size) -> None:
    replicas = values("nova", size)["pod"]["replicas"]
    assert set(replicas) == {"api-osapi", "api-metadata", "conductor", "scheduler", "novncproxy"}
    assert (size == "single") == (set(replicas.values()) == {1})


@pytest.mark.parametrize("enabled", [True, False])
def test_live_migration_is_encrypted_on_both_sides_or_on_none(enabled: bool) -> None:
    settings = {"libvirt": {"tls": {"enabled": enabled}}}
    assert values("nova", **settings)["conf"]["nova"]["libvirt"]["live_migration_with_native_tls"] is enabled
    assert values("libvirt", **settings)["conf"]["qemu"]["migrate_tls_force"] is enabled


def test_libvirt_listens_only_with_tls_even_if_live_migration_has_none() -> None:
    settings = {"libvirt": {"tls": {"enabled": False}}}
    daemon = values("libvirt", **settings)
    listens = {name: daemon["conf"]["libvirtd"][name] for name in ("listen_tls", "listen_tcp")}
    assert listens == {"listen_tls": True, "listen_tcp": False}
    assert values("nova", **settings)["conf"]["nova"]["libvirt"]["live_migration_scheme"] == "tls"
    assert daemon["secrets"]["tls"] == values("libvirt")["secrets"]["tls"]
    assert nova.SERVICE.certificates(context(**settings)) == nova.SERVICE.certificates(context())


def test_the_certificates_are_for_all_compute_nodes() -> None:
    *hypervisors, proxy = nova.SERVICE.certificates(context())
    for each in hypervisors:
        assert (each.names, each.addresses) == (("node1", "node2"), ("10.0.0.1", "10.0.0.2"))
    assert proxy.names == ("nova-novncproxy",)


@pytest.mark.parametrize("encrypted", [True, False])
def test_libvirt_accepts_no_certificate_of_the_cloud_except_libvirts(encrypted: bool) -> None:
    own, qemu, proxy = nova.SERVICE.certificates(context())
    daemon = values("libvirt", libvirt={"tls": {"enabled": encrypted}})
    assert daemon["conf"]["libvirtd"]["tls_allowed_dn_list"] == [f"CN={own.subject}"]
    assert daemon["secrets"]["tls"] == {"libvirt": own.name, "qemu": qemu.name}
    subjects = {each.subject or each.names[0] for each in (qemu, proxy)}
    assert own.subject not in subjects


def test_no_certificate_without_compute_nodes() -> None:
    assert nova.SERVICE.certificates(context(nodes=())) == ()


def test_nova_requests_three_databases_in_two_accounts() -> None:
    first, second, *others = nova.SERVICE.contracts(context(messaging_instance="rabbitmq"))
    assert (first.name, first.spec["additionalDatabases"]) == ("nova", ["nova_cell0"])
    assert (second.name, second.spec["database"], second.spec["section"]) == ("nova-api", "nova_api", "api_database")
    assert [contract.gates for contract in (first, second, *others)] == [True, True, False, False, False]
    assert others[0].spec["instance"] == "rabbitmq"
    assert others[-1].spec["sections"] == ["placement", "neutron", "cinder", "service_user"]


def test_disk_of_a_node_is_reserved_where_machines_use_it() -> None:
    conf = {
        backend: values("nova", images={"backend": backend})["conf"]["nova"]["DEFAULT"] for backend in ("raw", "ceph")
    }
    assert conf["raw"]["reserved_host_disk_mb"] > 0
    assert "reserved_host_disk_mb" not in conf["ceph"]


@pytest.mark.parametrize("enabled", [True, False])
def test_consoles_can_be_enabled_or_disabled(enabled: bool) -> None:
    built = values("nova", ingress=True, console={"novnc": {"enabled": enabled}})
    assert built["manifests"]["deployment_novncproxy"] is enabled
    assert built["conf"]["nova"]["vnc"] == {"enabled": enabled}
    assert built["endpoints"]["compute_novnc_proxy"]["host_fqdn_override"] == {"public": "novncproxy.cloud.example"}


def test_emulating_nodes_are_named_with_the_reason() -> None:
    told = nova.SERVICE.pod_conditions
    assert told is not None
    (condition,) = told(
        (pod("b", answer("qemu", "no KVM")), pod("a", answer("kvm")), pod("c", answer("qemu", "no KVM")))
    )
    assert (condition.type, condition.status, condition.reason) == ("Hypervisors", False, "Emulated")
    assert condition.message.endswith("on b, c: no KVM")
    assert told((pod("a", answer("kvm")),))[0].status is True


def test_an_invalid_report_is_ignored() -> None:
    told = nova.SERVICE.pod_conditions
    assert told is not None
    silent = pod("a", answer("qemu"), code=1), pod("b", "Error"), pod("c", answer("qemu"), "node"), {"metadata": {}}
    assert told(silent) == ()


def test_migrations_use_the_address_of_the_node_and_its_certificate_includes_it() -> None:
    told = (pod("node1", json.dumps({"address": "192.0.2.9", "virt_type": "kvm"})), pod("node2", answer("kvm"), code=1))
    certificate, *_ = nova.SERVICE.certificates(replace(context(), pods=told))
    assert certificate.addresses == ("10.0.0.1", "10.0.0.2", "192.0.2.9")


def test_nova_only_reads_images_in_ceph() -> None:
    """It clones images; with write access it could change the boot disks of all users."""
    (disks,) = [each for each in nova.SERVICE.contracts(context(images={"backend": "ceph"})) if each.stage == "Storage"]
    assert {pool["role"]: pool["readOnly"] for pool in disks.spec["pools"]} == {"vms": False, "images": True}
