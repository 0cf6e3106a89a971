"""Neutron's declaration: what reaches which chart for the two back ends, and names that do not fit each other."""

from typing import Any

import pytest
from pydantic import ValidationError

from stackwright.api.services.kinds import ServiceSpec
from stackwright.services.context import Context, NodeRef
from stackwright.services.neutron import SERVICE, ovn
from stackwright.services.neutron.features import NeutronSettings

EXTERNAL = {"physnet": "physnet1", "bridge": "br-ex", "interface": "ext0", "network_types": ["flat"]}
SUBNET = {
    "range": "172.24.4.0/24",
    "pool_start": "172.24.4.100",
    "pool_end": "172.24.4.200",
    "gateway": "172.24.4.1",
}
FLOATING = {"enabled": True, "physnet": "physnet1", "subnet": SUBNET}


def values(size: str = "single", gateways: int = 1, **settings: Any) -> dict[str, dict[str, Any]]:
    spec = ServiceSpec.model_validate({"size": size})
    nodes = {"openstack-gateway=enabled": tuple(NodeRef(f"node{i}", f"10.0.0.{i}") for i in range(gateways))}
    parsed = NeutronSettings.model_validate(settings)
    context = Context("neutron", "openstack", spec, {}, parsed, nodes)
    return {chart.name: chart.values(context) for chart in SERVICE.charts if chart.wanted(context.settings)}


def test_ml2_with_an_external_network() -> None:
    found = values(
        external_networks=[EXTERNAL, {**EXTERNAL, "physnet": "p2", "bridge": "br-2", "interface": None, "mtu": 9000}],
        tunnel_interface="tunnel0",
        dns_servers=["9.9.9.9"],
        floating_network=FLOATING,
    )
    conf = found["neutron"]["conf"]
    assert conf["plugins"]["ml2_conf"]["ml2"]["mechanism_drivers"] == ["openvswitch"]
    assert conf["plugins"]["ml2_conf"]["ml2"]["tenant_network_types"] == ["vxlan"]
    assert conf["plugins"]["ml2_conf"]["ml2"]["physical_network_mtus"] == ["p2:9000"]
    assert conf["plugins"]["ml2_conf"]["ml2_type_flat"]["flat_networks"] == ["physnet1", "p2"]
    assert conf["plugins"]["openvswitch_agent"]["ovs"]["bridge_mappings"] == ["physnet1:br-ex", "p2:br-2"]
    assert conf["dhcp_agent"]["DEFAULT"]["dnsmasq_dns_servers"] == ["9.9.9.9"]
    assert found["neutron"]["bootstrap"]["floating_network"]["subnet"]["range"] == "172.24.4.0/24"
    assert found["openvswitch"]["conf"]["tunnel_interface"] == "tunnel0"
    assert [bridge["interface"] for bridge in found["openvswitch"]["conf"]["bridges"]] == ["ext0", None]
    assert set(found) == {"neutron", "openvswitch"}


def test_ovn_has_no_agents_that_ask_by_rpc() -> None:
    found = values(backend="ml2/ovn", external_networks=[EXTERNAL])
    ml2 = found["neutron"]["conf"]["plugins"]["ml2_conf"]
    assert ml2["ml2"]["tenant_network_types"] == ["geneve"]
    assert ml2["ovn"]["ovn_nb_connection"] == "ssl:ovn-ovsdb-0.openstack.svc.cluster.local:6641"
    assert ml2["ovn"]["ovn_sb_connection"] == "ssl:ovn-ovsdb-0.openstack.svc.cluster.local:6642"
    on = {name for name, wanted in found["neutron"]["manifests"].items() if wanted}
    assert on == {"daemonset_ovn_metadata_agent", "deployment_ovn_maintenance_worker"}
    assert found["ovn"]["conf"] == {"bridge_mappings": ["physnet1:br-ex"], "gateways": ["node0"]}
    assert set(found) == {"neutron", "openvswitch", "ovn"}


def test_vlan_ranges() -> None:
    network = {**EXTERNAL, "network_types": ["vlan"]}
    found = values(external_networks=[network])["neutron"]["conf"]["plugins"]["ml2_conf"]
    assert found["ml2_type_vlan"]["network_vlan_ranges"] == ["physnet1"]
    ranges = {**network, "vlan_ranges": "100:199,300:399"}
    found = values(external_networks=[ranges])["neutron"]["conf"]["plugins"]["ml2_conf"]
    assert found["ml2_type_vlan"]["network_vlan_ranges"] == ["physnet1:100:199", "physnet1:300:399"]


@pytest.mark.parametrize(("gateways", "agents"), [(0, 1), (1, 1), (2, 2), (5, 2)])
def test_dhcp_servers_of_a_network(gateways: int, agents: int) -> None:
    conf = values(gateways=gateways)["neutron"]["conf"]["neutron"]
    assert conf["DEFAULT"]["dhcp_agents_per_network"] == agents


def test_sizes_grow() -> None:
    replicas = [values(size)["neutron"]["pod"]["replicas"]["server"] for size in ("single", "tiny", "medium")]
    assert replicas == [1, 3, 12]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"external_networks": [EXTERNAL, {**EXTERNAL, "physnet": "p2"}]}, "duplicate bridge br-ex"),
        ({"external_networks": [{**EXTERNAL, "bridge": "br-int"}]}, "bridge br-int is reserved for Neutron"),
        ({"external_networks": [EXTERNAL], "tunnel_interface": "ext0"}, "interface ext0 is also tunnel_interface"),
        ({"external_networks": [], "floating_network": FLOATING}, "physnet1 is not in external_networks"),
        (
            {"external_networks": [{**EXTERNAL, "network_types": ["vlan"]}], "floating_network": FLOATING},
            "flat is not in network_types of physnet1",
        ),
    ],
)
def test_names_that_do_not_fit(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        values(**settings)


@pytest.mark.parametrize(
    ("size", "counts", "expected"),
    [("single", [], 1), ("tiny", [], 3), ("single", [3], 3), ("single", [3, 1], 1), ("single", ["three"], 1)],
)
def test_clients_know_all_members(size: str, counts: list[Any], expected: int) -> None:
    levels = [
        {"source": f"level {number}", "values": {"ovn": {"pod": {"replicas": {"ovsdb": count}}}}}
        for number, count in enumerate(counts)
    ]
    spec = ServiceSpec.model_validate({"size": size, "overrides": levels})
    settings = NeutronSettings.model_validate({"backend": "ml2/ovn"})
    found = ovn.hosts(Context("neutron", "openstack", spec, {}, settings))
    assert found == [f"ovn-ovsdb-{member}.openstack.svc.cluster.local" for member in range(expected)]


@pytest.mark.parametrize(("backend", "expected"), [("ml2/ovn", ["ovn-tls"]), ("ml2", [])])
def test_only_ovn_has_a_certificate(backend: str, expected: list[str]) -> None:
    settings = NeutronSettings.model_validate({"backend": backend})
    found = SERVICE.certificates(Context("neutron", "openstack", ServiceSpec(), {}, settings))
    assert [each.name for each in found] == expected
