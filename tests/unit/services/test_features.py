"""Features of a cloud: each rule names the violating field and the allowed values."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackwright.controllers.cloud.validate import parse
from stackwright.services.registry import SERVICES

GOOD = {"openstack_version": "epoxy", "preset": "core", "size": "single"}
EXTERNAL = {"physnet": "physnet1", "bridge": "br-ex", "network_types": ["flat"]}
SUBNET = {
    "range": "192.0.2.0/24", "pool_start": "192.0.2.10", "pool_end": "192.0.2.20", "gateway": "192.0.2.1",
}  # fmt: skip
BUSES = sorted(repr(each.service) for each in SERVICES if each.own_bus)
FLOATING = {"enabled": True, "physnet": "physnet1", "subnet": SUBNET}


def errors(**features):
    thing = {"metadata": {"name": "cloud", "namespace": "openstack"}, "spec": {**GOOD, "features": features}}
    spec, found = parse(thing)
    assert (spec is None) is bool(found)
    return found


def neutron(**more):
    return {"external_networks": [EXTERNAL], "floating_network": FLOATING, **more}


def floating(**more):
    return neutron(floating_network={**FLOATING, **more})


def subnet(**more):
    return floating(subnet={**SUBNET, **more})


NEUTRON = [
    (
        neutron(external_networks=[]),
        "spec.features.neutron.floating_network.physnet: physnet1 is not in external_networks; allowed: none",
    ),
    (
        floating(physnet="other"),
        "spec.features.neutron.floating_network.physnet: other is not in external_networks; allowed: physnet1",
    ),
    (
        neutron(external_networks=[EXTERNAL, {**EXTERNAL, "bridge": "br-two"}]),
        "spec.features.neutron.external_networks: duplicate physnet: physnet1, physnet1",
    ),
    (floating(physnet=None), "spec.features.neutron.floating_network: enabled requires physnet and subnet"),
    (floating(subnet=None), "spec.features.neutron.floating_network: enabled requires physnet and subnet"),
    (
        floating(network_type="vlan"),
        "spec.features.neutron.floating_network: segmentation_id and network_type vlan require each other",
    ),
    (
        floating(segmentation_id=7),
        "spec.features.neutron.floating_network: segmentation_id and network_type vlan require each other",
    ),
    (
        floating(network_type="vlan", segmentation_id=4095),
        "spec.features.neutron.floating_network.segmentation_id: must be at most 4094, not 4095",
    ),
    (
        floating(network_type="vlan", segmentation_id=7),
        "spec.features.neutron.floating_network.network_type: vlan is not in network_types of physnet1",
    ),
    (
        subnet(pool_start="198.51.100.9"),
        "spec.features.neutron.floating_network.subnet: pool_start 198.51.100.9 is not in range 192.0.2.0/24",
    ),
    (
        subnet(pool_end="198.51.100.9"),
        "spec.features.neutron.floating_network.subnet: pool_end 198.51.100.9 is not in range 192.0.2.0/24",
    ),
    (
        subnet(gateway="2001:db8::1"),
        "spec.features.neutron.floating_network.subnet: gateway 2001:db8::1 is not in range 192.0.2.0/24",
    ),
    (
        subnet(pool_end="192.0.2.9"),
        "spec.features.neutron.floating_network.subnet: pool_start 192.0.2.10 is after pool_end 192.0.2.9",
    ),
    (
        subnet(pool_start="198.51.100.9", gateway="203.0.113.1"),
        "spec.features.neutron.floating_network.subnet: pool_start 198.51.100.9 is not in range 192.0.2.0/24; "
        "gateway 203.0.113.1 is not in range 192.0.2.0/24; pool_start 198.51.100.9 is after pool_end 192.0.2.20",
    ),
    (
        neutron(
            external_networks=[EXTERNAL, {**EXTERNAL, "bridge": "br-two"}],
            floating_network={**FLOATING, "physnet": "physnet2"},
            tenant_network_types=["geneve"],
        ),
        "spec.features.neutron.external_networks: duplicate physnet: physnet1, physnet1; "
        "floating_network.physnet: physnet2 is not in external_networks; did you mean physnet1? allowed: physnet1; "
        "tenant_network_types: geneve requires backend ml2/ovn",
    ),
    (
        subnet(range="192.0.2.1/24"),
        "spec.features.neutron.floating_network.subnet.range: '192.0.2.1/24' has host bits set; write 192.0.2.0/24",
    ),
    (
        subnet(range="192.0.2.0"),
        "spec.features.neutron.floating_network.subnet.range: '192.0.2.0' has no prefix length, such as 192.0.2.0/24",
    ),
    (
        subnet(gateway="first"),
        "spec.features.neutron.floating_network.subnet.gateway: 'first' does not appear to be an IPv4 or IPv6 address",
    ),
    (
        neutron(dns_servers=["192.0.2.53", "dns.example"]),
        "spec.features.neutron.dns_servers[1]: 'dns.example' does not appear to be an IPv4 or IPv6 address",
    ),
    (
        neutron(tenant_network_types=["vlan"]),
        "spec.features.neutron.tenant_network_types: vlan requires vlan_ranges in one of external_networks",
    ),
    (
        neutron(tenant_network_types=["geneve"]),
        "spec.features.neutron.tenant_network_types: geneve requires backend ml2/ovn",
    ),
    (
        neutron(backend="ml2/ovn", tenant_network_types=["vxlan"]),
        "spec.features.neutron.tenant_network_types: vxlan requires backend ml2; OVN allows geneve, vlan, flat",
    ),
    (
        neutron(tenant_network_types=["gre"]),
        "spec.features.neutron.tenant_network_types[0]: 'gre' is not allowed; allowed: 'flat', 'vlan', 'vxlan' or "
        "'geneve'",
    ),
    (
        neutron(backend="ovs"),
        "spec.features.neutron.backend: 'ovs' is not allowed; allowed: 'ml2' or 'ml2/ovn'",
    ),
    (
        neutron(external_networks=[{**EXTERNAL, "network_types": []}]),
        "spec.features.neutron.external_networks[0].network_types: must not be empty",
    ),
    (
        neutron(external_networks=[{**EXTERNAL, "bridge": "a-bridge-of-long-name"}]),
        "spec.features.neutron.external_networks[0].bridge: must match ",
    ),
    (
        neutron(external_networks=[{**EXTERNAL, "vlan_ranges": "100-200"}]),
        "spec.features.neutron.external_networks[0].vlan_ranges: must match ",
    ),
    (
        neutron(external_networks=[{**EXTERNAL, "vlan_ranges": "100:199,9:8"}]),
        "spec.features.neutron.external_networks[0].vlan_ranges: 9:8 is not a range within 1:4094",
    ),
    (
        neutron(external_networks=[{**EXTERNAL, "vlan_ranges": "4000:4095"}]),
        "spec.features.neutron.external_networks[0].vlan_ranges: 4000:4095 is not a range within 1:4094",
    ),
    (
        neutron(external_networks=[{**EXTERNAL, "mtu": 9}]),
        "spec.features.neutron.external_networks[0].mtu: must be at least 68, not 9",
    ),
    (
        neutron(external_networks=[{"physnet": "physnet1", "bridge": "br-ex"}]),
        "spec.features.neutron.external_networks[0].network_types: is required",
    ),
    (
        neutron(tunnel_interface="tunnel 0"),
        "spec.features.neutron.tunnel_interface: must match ",
    ),
    (
        neutron(dvr={}),
        "spec.features.neutron.dvr: is not supported by this version of Stackwright; remove it",
    ),
]
OTHERS = [
    (
        {"nova": {"allocation_ratios": {"cpu": 0}}},
        "spec.features.nova.allocation_ratios.cpu: must be greater than 0, not 0",
    ),
    (
        {"nova": {"images": {"backend": "lvm"}}},
        "spec.features.nova.images.backend: 'lvm' is not allowed; allowed: 'local', 'qcow2', 'raw' or 'ceph'",
    ),
    (
        {"nova": {"live_migration_interface": ""}},
        "spec.features.nova.live_migration_interface: must match ",
    ),
    (
        {"glance": {"backends": {"file": {"a": {"pvc": {"size": "1Gi"}}, "b": {"pvc": {"size": "1Gi"}}}}}},
        "spec.features.glance.backends.file: must have at most 1 entry",
    ),
    (
        {"glance": {"backends": {"file": {"a": {"pvc": {"size": "much"}}}}}},
        "spec.features.glance.backends.file.a.pvc.size: must be a number above 0 ",
    ),
    (
        {"glance": {"backends": {"rbd": {"one": {}}, "cinder": {"two": {}}}}},
        "spec.features.glance.backends: exactly one of several stores must be the default; defaults: none",
    ),
    (
        {"cinder": {"volume": {"backends": {"x": {"values": {"conf": {"backends": {}}}}}}}},
        "spec.features.cinder.volume.backends.x.values.conf.backends: "
        "takes section → option → value, with at least one section",
    ),
    (
        {"cinder": {"volume": {"backends": {"x": {"values": {"conf": {"backends": {"x": {}}, "cinder": None}}}}}}},
        "spec.features.cinder.volume.backends.x.values.conf.cinder: takes section → option → value",
    ),
    (
        {
            "cinder": {
                "volume": {
                    "backends": {"x": {"values": {"conf": {"backends": {"x": {}}, "cinder": {"DEFAULT": None}}}}}
                }
            }
        },
        "spec.features.cinder.volume.backends.x.values.conf.cinder: takes section → option → value",
    ),
    (
        {"cinder": {"volume": {"backends": {"x": {"values": {"conf": {"backends": {"x": {}}, "cinder": ["a"]}}}}}}},
        "spec.features.cinder.volume.backends.x.values.conf.cinder: takes section → option → value",
    ),
    (
        {"database": {"cleanup": {"nova": {"schedule": "now"}}}},
        "spec.features.database.cleanup.nova.schedule: must be five fields with one space between them (minute, ",
    ),
    (
        {"horizon": {"default_theme": "mine"}},
        "spec.features.horizon.default_theme: 'mine' is not allowed; allowed: 'default' or 'material'",
    ),
    (
        {"horizon": {"themes": [{"name": "mine"}]}},
        "spec.features.horizon.themes: is not supported by this version of Stackwright; remove it",
    ),
    ({"ssl": {"public_endpoints": {}}}, "spec.features.ssl.public_endpoints.ca_cert: is required"),
    (
        {"messaging": {"components_with_dedicated_messaging": ["identity"]}},
        "spec.features.messaging.components_with_dedicated_messaging[0]: 'identity' is not allowed; allowed: "
        f"{', '.join(BUSES[:-1])} or {BUSES[-1]}",
    ),
    ({"network_policies": {"enabled": "perhaps"}}, "spec.features.network_policies.enabled: takes true or false"),
    (
        {"keystone": {"users": {"admin": {"user_domain_name": "Other"}}}},
        "spec.features.keystone.users.admin.user_domain_name: 'Other' is not allowed; allowed: 'Default'",
    ),
    ({"logging": {"nova": {"level": "LOUD"}}}, "spec.features.logging.nova.level: 'LOUD' is not allowed; allowed: "),
]


@pytest.mark.parametrize(("features", "expected"), [*(({"neutron": n}, e) for n, e in NEUTRON), *OTHERS])
def test_a_broken_rule_is_reported_with_the_field_and_the_allowed_values(features, expected):
    assert errors(**features)[0].startswith(expected)


def test_rules_of_a_service_are_checked_before_the_features_are_used():
    """Of the service's own model, so that its object would be refused later; here it is no cloud at all."""
    bridges = [EXTERNAL, {**EXTERNAL, "physnet": "physnet2"}]
    assert errors(neutron={"external_networks": bridges}) == [
        "spec.features.neutron.external_networks: duplicate bridge br-ex"
    ]
    assert errors(neutron={"external_networks": [{**EXTERNAL, "bridge": "br-int"}]}) == [
        "spec.features.neutron.external_networks: bridge br-int is reserved for Neutron; choose another name"
    ]
    shared = {"external_networks": [{**EXTERNAL, "interface": "eth1"}], "tunnel_interface": "eth1"}
    assert errors(neutron=shared) == [
        "spec.features.neutron.external_networks: interface eth1 is also tunnel_interface; use two interfaces"
    ]


@pytest.mark.parametrize(
    "features",
    [
        {},
        {"neutron": neutron()},
        {"neutron": floating(enabled=False, physnet="not-there", subnet=None)},
        {"neutron": {"backend": "ml2/ovn", "tenant_network_types": ["geneve", "flat"]}},
        {
            "neutron": {
                "external_networks": [{**EXTERNAL, "network_types": ["vlan"], "vlan_ranges": "1:10,20:30"}],
                "floating_network": {**FLOATING, "network_type": "vlan", "segmentation_id": 12},
                "tenant_network_types": ["vlan"],
            }
        },
        {"messaging": {"components_with_dedicated_messaging": []}},
    ],
)
def test_valid_values_are_accepted(features):
    assert errors(**features) == []


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5000) | st.floats() | st.text(max_size=4)
    | st.sampled_from(["vlan", "flat", "physnet1", "192.0.2.7", "192.0.2.0/24", "br-ex", "ml2/ovn", "~image", "1Gi"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["enabled", "name", "x"]), inner),
    max_leaves=4,
)  # fmt: skip


def like(value):
    """Values of the same form, here and there with something else in their place."""
    if isinstance(value, dict):
        fields = st.fixed_dictionaries({}, optional={name: like(each) for name, each in value.items()})
        return fields | ANYTHING
    if isinstance(value, list):
        return st.lists(like(value[0]), max_size=2) | ANYTHING
    return st.just(value) | ANYTHING


FULL = {
    "services": ["~image"],
    "neutron": {
        **neutron(dns_servers=["192.0.2.53"], tenant_network_types=["vlan"], tunnel_interface="t0", backend="ml2/ovn"),
        "external_networks": [{**EXTERNAL, "interface": "e0", "vlan_ranges": "1:2", "mtu": 1500}],
        "floating_network": {**FLOATING, "network_type": "vlan", "segmentation_id": 5},
        "extensions": {"trunk": {"enabled": True}},
    },
    "nova": {"allocation_ratios": {"cpu": 2.0}, "images": {"backend": "raw"}, "console": {"novnc": {"enabled": True}}},
    "glance": {"backends": {"file": {"a": {"default": True, "pvc": {"size": "1Gi"}}}}},
    "ssl": {"public_endpoints": {"ca_cert": {"value_from": {"secret_key_ref": {"name": "n", "key": "k"}}}}},
    "messaging": {"components_with_dedicated_messaging": ["compute"]},
    "logging": {"cadf": {"enabled": True}, "nova": {"level": "DEBUG"}},
    "network_policies": {"enabled": True},
}


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(like(FULL))
def test_any_features_are_accepted_or_rejected_with_a_message(features):
    thing = {"metadata": {"name": "cloud", "namespace": "openstack"}, "spec": {**GOOD, "features": features}}
    spec, found = parse(thing)
    assert (spec is None) is bool(found)
    assert all(line.startswith("spec") and ": " in line for line in found)
