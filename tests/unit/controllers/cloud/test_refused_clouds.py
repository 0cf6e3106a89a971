"""Clouds that cannot work are rejected at admission, with messages that say what to change."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from stackwright.admission.validate import errors_of
from stackwright.api.fields.cron import Schedule
from stackwright.cloud.deployment import OpenStackDeploymentSpec
from stackwright.controllers.cloud.charts import FIXED, chart_errors


def errors(**features):
    spec = {"openstack_version": "epoxy", "preset": "compute", "size": "tiny", "features": features}
    return errors_of({"kind": "OpenStackDeployment", "metadata": {"name": "c", "namespace": "n"}, "spec": spec})


def test_a_service_that_others_require_cannot_be_removed():
    (told,) = errors(services=["~database"])
    assert told == (
        "spec.features.services: ~database removes a service that identity, image, placement, block-storage, "
        "networking, compute requires; delete ~database, or remove these services, too"
    )


@pytest.mark.parametrize(
    ("asked", "lost"),
    [
        (["~identity"], ["identity"]),
        (["~coordination"], ["coordination"]),
        (["~messaging", "~networking"], ["messaging", "networking"]),
        (["object-storage", "~ceph"], ["ceph"]),
        (["~memcached"], ["memcached"]),
        (["~compute", "~placement", "~networking"], []),
        (["~image", "~ingress", "~dashboard"], []),
        (["~dashboard", "~memcached"], []),
    ],
)
def test_only_the_removal_of_required_services_is_rejected(asked, lost):
    told = errors(services=asked)
    assert [each.split("~")[1].split()[0] for each in told] == lost


def test_a_service_is_listed_with_or_without_a_tilde_but_not_both():
    assert errors(services=["ceph", "~image", "~ceph"]) == [
        "spec.features.services: ceph: listed both with and without ~; remove one of the two"
    ]


def test_errors_of_the_schema_do_not_hide_those_of_overrides():
    spec = {"preset": "compute", "size": "big", "features": {"typo": 1}, "public_domain_name": None, "typo": 1}
    spec["services"] = {"identity": {"keystne": {}}}
    spec["nodes"] = {"label": {}}
    told = errors_of({"kind": "OpenStackDeployment", "metadata": {"name": "c", "namespace": "n"}, "spec": spec})
    assert sorted(each.partition(": ")[0] for each in told) == [
        "spec.features.typo", "spec.nodes.label", "spec.openstack_version", "spec.services.identity.keystne",
        "spec.size", "spec.typo",
    ]  # fmt: skip
    spec["services"] = 5
    told = errors_of({"kind": "OpenStackDeployment", "metadata": {"name": "c", "namespace": "n"}, "spec": spec})
    assert [each.partition(": ")[0] for each in told if each.startswith(("spec.services", "spec.nodes"))] == [
        "spec.services", "spec.nodes.label",
    ]  # fmt: skip


def network(gateway):
    subnet = {"range": "192.0.2.0/24", "pool_start": "192.0.2.10", "pool_end": "192.0.2.20", "gateway": gateway}
    floating = {"enabled": True, "physnet": "p", "subnet": subnet}
    return {
        "external_networks": [{"physnet": "p", "bridge": "br-ex", "network_types": ["flat"]}],
        "floating_network": floating,
    }


@pytest.mark.parametrize(
    ("gateway", "refused"),
    [("192.0.2.9", 0), ("192.0.2.10", 1), ("192.0.2.15", 1), ("192.0.2.20", 1), ("192.0.2.21", 0)],
)
def test_a_gateway_is_outside_its_pool(gateway, refused):
    told = errors(neutron=network(gateway))
    assert len(told) == refused
    if refused:
        assert f"gateway {gateway} is inside the pool 192.0.2.10 to 192.0.2.20" in told[0]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"gateway": "192.0.2.0"}, ["gateway 192.0.2.0 is the network address of 192.0.2.0/24"]),
        ({"gateway": "192.0.2.255"}, ["gateway 192.0.2.255 is the broadcast address of 192.0.2.0/24"]),
        (
            {"pool_start": "192.0.2.0", "pool_end": "192.0.2.255", "gateway": "192.0.3.1"},
            [
                "pool_start 192.0.2.0 is the network address of 192.0.2.0/24",
                "pool_end 192.0.2.255 is the broadcast address of 192.0.2.0/24",
                "gateway 192.0.3.1 is not in range 192.0.2.0/24",
            ],
        ),
    ],
)
def test_addresses_of_floating_ips_are_those_of_interfaces(changes, told):
    neutron = network("192.0.2.1")
    neutron["floating_network"]["subnet"].update(changes)
    assert errors(neutron=neutron) == [f"spec.features.neutron.floating_network.subnet: {'; '.join(told)}"]


@pytest.mark.parametrize("mtu", [-1, 0, 67, 65536, 10**9])
def test_an_mtu_is_valid_for_a_network(mtu):
    external = [{"physnet": "p", "bridge": "br-ex", "network_types": ["flat"], "mtu": mtu}]
    assert (
        "spec.features.neutron.external_networks[0].mtu: must be at"
        in errors(neutron={"external_networks": external})[0]
    )


@pytest.mark.parametrize("mtu", [-1, 1, 67, 65536, 10**9])
def test_an_mtu_of_a_cluster_is_valid_for_a_network_or_absent(mtu):
    for field, value in (("networkMTU", mtu), ("managedNetwork", {"mtu": mtu})):
        assert any("mtu: must be " in told.lower() for told in errors_of(cluster(field, value))), field
    assert not errors_of(cluster("networkMTU", 0))
    assert not errors_of(cluster("managedNetwork", {"mtu": 0}))


def cluster(field, value):
    spec = {"identityRef": {"name": "n", "cloudName": "c"}, field: value}
    return {"kind": "OpenStackCluster", "metadata": {"name": "c", "namespace": "n"}, "spec": spec}


@pytest.mark.parametrize("size", ["0", "0Gi", "00.0Gi", "-1Gi", "", "1e3", "Gi"])
def test_a_volume_has_a_size(size):
    (told,) = errors(glance={"backends": {"file": {"f": {"pvc": {"size": size}}}}})
    assert "pvc.size: must be a number above 0 with a unit, such as 20Gi" in told
    assert "osd_size: must be a number above 0" in errors(ceph={"osd_size": size})[0]


@pytest.mark.parametrize("size", ["1", "10Gi", "0.5Ti", "1.0G", "100"])
def test_sizes_that_are_right(size):
    assert errors(ceph={"osd_size": size}) == []


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        ("99 0 * * 1", "minute '99': '99' is out of range; allowed: *, numbers from 0 to 59, ranges (0-2), "),
        ("0 24 * * *", "hour '24': '24' is out of range; allowed: *, numbers from 0 to 23, "),
        ("0 0 0 * *", "day of month '0': '0' is out of range; allowed: *, numbers from 1 to 31, ranges (1-3), "),
        ("0 0 * 13 *", "month '13': '13' is out of range; allowed: *, numbers from 1 to 12 or jan feb mar "),
        ("0 0 * * 7", "day of week '7': '7' is out of range; allowed: *, numbers from 0 to 6 or sun mon tue "),
        ("*/0 * * * *", "minute '*/0': '*/0' has a step that is not a number from 1; allowed: "),
        ("1,5-1 * * * *", "minute '1,5-1': '5-1' is a range whose first number is the larger one; allowed: "),
        ("1,,2 * * * *", "minute '1,,2': '' is not a number; allowed: "),
        ("a b c d e", "day of week 'e': 'e' is not a number; allowed: "),
        ("1-2-3 * * * *", "minute '1-2-3': '1-2-3' is not a range of two numbers; allowed: "),
        ("x" * 999 + " * * * *", f"minute '{'x' * 20}…': '{'x' * 20}…' is not a number; allowed: "),
        ("0  3 * * *", "must be five fields with one space between them (minute, hour, day of month, month, "),
        ("0 3 * *", "such as 0 3 * * 1 for Mondays at 03:00, or @hourly, @daily, @weekly, @monthly or @yearly"),
    ],
)
def test_a_schedule_is_valid_for_cron(schedule, told):
    (error,) = errors(database={"cleanup": {"nova": {"schedule": schedule}}})
    assert error.startswith("spec.features.database.cleanup.nova.schedule: ")
    assert told in error


@pytest.mark.parametrize(
    "schedule", ["@daily", "1 0 * * 1", "*/15 0-6/2 1,15 jan-MAR mon", "0 0 ? * SUN,6", "5/10 * * * *"]
)
def test_schedules_that_are_right(schedule):
    assert TypeAdapter(Schedule).validate_python(schedule) == schedule


@pytest.mark.parametrize("schedule", ["", "* * * *", "@fortnightly", "* * * * * *"])
def test_schedules_that_have_no_five_fields(schedule):
    with pytest.raises(ValidationError):
        TypeAdapter(Schedule).validate_python(schedule)


@pytest.mark.parametrize(
    ("service", "chart", "values", "path"),
    [
        ("identity", "keystone", {"endpoints": {"identity": {"port": {"api": {"default": 5001}}}}}, "identity.port"),
        ("database", "mariadb", {"endpoints": {"oslo_db": {"port": None}}}, "oslo_db.port"),
        ("networking", "neutron", {"endpoints": {"network": {"hosts": {"default": "n"}}}}, "network.hosts"),
        ("messaging", "rabbitmq", {"name": "other"}, ""),
        ("identity", "keystone", {"endpoints": {"identity": {"path": {"default": "/v3"}}}}, None),
        ("identity", "keystone", {"endpoints": {"identity": None}}, "identity"),
        ("identity", "keystone", {"endpoints": {"identity": {"namespace": "other"}}}, "identity.namespace"),
        ("identity", "keystone", {"endpoints": {"cluster_domain_suffix": "x.y"}}, "cluster_domain_suffix"),
    ],
)
def test_values_that_other_services_assume_cannot_be_overridden(service, chart, values, path):
    """A changed port would leave the catalog, contracts and network policies with the old one."""
    spec = {"openstack_version": "epoxy", "preset": "compute", "size": "tiny", "features": {}}
    spec["services"] = {service: {chart: {"values": values}}}
    told = chart_errors(OpenStackDeploymentSpec.model_validate(spec), {})
    where = f"spec.services.{service}.{chart}.values."
    field = f"endpoints.{path}" if path else "name"
    assert told == ([] if path is None else [f"{where}{field}: {FIXED}"])


PORT = {"endpoints": {"network": {"port": {"api": {"default": 9697}}}}}


@pytest.mark.parametrize(
    ("where", "field"),
    [
        ("common.charts.values", {"common": {"charts": {"values": PORT}}}),
        ("common.openstack.values", {"common": {"openstack": {"values": PORT}}}),
        ("common.charts.releases.neutron.values", {"common": {"charts": {"releases": {"neutron": {"values": PORT}}}}}),
        (
            "common.openstack.releases.neutron.values",
            {"common": {"openstack": {"releases": {"neutron": {"values": PORT}}}}},
        ),
        (
            "nodes.rack::r1.services.networking.neutron.ovs-agent.values",
            {"nodes": {"rack::r1": {"services": {"networking": {"neutron": {"ovs-agent": {"values": PORT}}}}}}},
        ),
    ],
)
def test_no_level_may_override_them(where, field):
    spec = {"openstack_version": "epoxy", "preset": "compute", "size": "tiny", "features": {}, **field}
    (told, *others) = chart_errors(OpenStackDeploymentSpec.model_validate(spec), {})
    assert told.startswith(f"spec.{where}.endpoints.network.port: {FIXED}")
    assert not others


def test_values_for_single_nodes_are_refused_in_both_notations():
    values = {"endpoints": {"network": {"port": {"api": {"default": 5001}}}}}
    nested = {"overrides": {"ovs-agent": {"labels": {"a/b::c": values}}}}
    spec = {"openstack_version": "epoxy", "preset": "compute", "size": "tiny", "features": {}}
    spec["services"] = {"networking": {"neutron": {"values": nested}}}
    where = "spec.services.networking.neutron.values.overrides.ovs-agent.labels.a/b::c"
    told = chart_errors(OpenStackDeploymentSpec.model_validate(spec), {})
    assert told == [f"{where}.endpoints.network.port: {FIXED}"]
    spec["services"] = {}
    spec["nodes"] = {"a/b::c": {"services": {"networking": {"neutron": {"ovs-agent": {"values": values}}}}}}
    assert len(chart_errors(OpenStackDeploymentSpec.model_validate(spec), {})) == 1
