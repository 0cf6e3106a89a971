"""Neutron's declaration: what reaches which chart for the two back ends, and names that do not fit each other."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from stackwright.api.services.kinds import ServiceSpec
from stackwright.services.context import Context, NodeRef
from stackwright.services.neutron import SERVICE, ovn
from stackwright.services.neutron.features import NeutronSettings
from stackwright.services.values import merged_values
from stackwright.services.voters import voters_by
from support.paths import ROOT

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


def of_ovn(size: str, *overrides: Any) -> Context:
    """The context of Neutron with OVN, with these values of its chart ovn."""
    levels = [{"source": f"level {number}", "values": {"ovn": each}} for number, each in enumerate(overrides)]
    spec = ServiceSpec.model_validate({"size": size, "overrides": levels})
    return Context("neutron", "openstack", spec, {}, NeutronSettings.model_validate({"backend": "ml2/ovn"}))


def members(count: Any) -> dict[str, Any]:
    return {"pod": {"replicas": {"ovsdb": count}}}


@pytest.mark.parametrize(
    ("size", "overrides", "expected"),
    [
        ("single", [], 1),
        ("tiny", [], 3),
        ("single", [members(3)], 3),
        ("single", [members(3.0)], 3),
        ("single", [members(3), members(1)], 1),
        ("tiny", [members(None)], 1),  # the default of the chart
        ("tiny", [{"pod": {"replicas": None}}], 1),
        ("tiny", [{"pod": None}, members(3)], 3),
        ("tiny", [{"volume": {"size": "2Gi"}}], 3),
    ],
)
def test_clients_know_all_members(size: str, overrides: list[Any], expected: int) -> None:
    context = of_ovn(size, *overrides)
    assert ovn.hosts(context) == [f"ovn-ovsdb-{member}.openstack.svc.cluster.local" for member in range(expected)]
    assert voters_by("ovn", merged_values(SERVICE, context, ovn.CHART)) == expected


@pytest.mark.parametrize("count", [10**9, "three", -1, 2.5])
def test_a_number_that_the_schema_rejects_costs_nothing(count: Any) -> None:
    """The operator computes the names of certificates without the schema."""
    assert len(ovn.hosts(of_ovn("tiny", members(count)))) <= ovn.MOST


def test_the_limit_is_that_of_the_schema() -> None:
    schema = json.loads((ROOT / "charts/ovn/values.schema.json").read_text())
    replicas = schema["properties"]["pod"]["properties"]["replicas"]["properties"]["ovsdb"]
    assert max(replicas["enum"]) == ovn.MOST


def test_without_members_clients_wait_for_the_first() -> None:
    assert ovn.hosts(of_ovn("tiny", members(0))) == ["ovn-ovsdb-0.openstack.svc.cluster.local"]


@pytest.mark.parametrize(("backend", "expected"), [("ml2/ovn", ["ovn-tls"]), ("ml2", [])])
def test_only_ovn_has_a_certificate(backend: str, expected: list[str]) -> None:
    settings = NeutronSettings.model_validate({"backend": backend})
    found = SERVICE.certificates(Context("neutron", "openstack", ServiceSpec(), {}, settings))
    assert [each.name for each in found] == expected
