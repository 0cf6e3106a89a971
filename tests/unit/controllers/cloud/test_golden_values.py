"""Values as charts get them: each preset and size, and each level of overrides in its order."""

from typing import get_args

import pytest
import yaml

from stackwright.api.kinds import NODE
from stackwright.api.services.kinds import ServiceSpec, Size
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.cloud.objects import service_object
from stackwright.controllers.cloud.overrides import overrides
from stackwright.controllers.cloud.selection import wanted_services
from stackwright.controllers.cloud.validate import parse
from stackwright.controllers.service.objects import chart_values
from stackwright.controllers.service.observe import Observed, observe
from stackwright.core.settings import Settings
from stackwright.local.image import recipes
from stackwright.runtime.memory import MemoryCluster
from stackwright.services.context import COMPUTE, OPENVSWITCH, PLACES, Context
from stackwright.services.declaration import Chart, Service
from stackwright.services.keystone.kind import Keystone
from stackwright.services.registry import PRESETS, SERVICES
from tests.unit.controllers.builders import NAMESPACE, obj

SIZES = get_args(Size)
SETTINGS = Settings({name: f"example.org/{name}:1" for name in recipes.load().images}, {})


def cloud(preset="core", size="single", **spec):
    return obj(
        OpenStackDeployment.KIND, "cloud", {"openstack_version": "epoxy", "preset": preset, "size": size, **spec}
    )


async def values_of(thing):
    """Release → values of all services of a cloud, by the way they really go: cloud, service object, HelmBundle."""
    spec, errors = parse(thing)
    assert spec is not None, errors
    found = {}
    cluster = MemoryCluster()
    cluster.put(NODE, node("node-1", "10.0.0.11", *PLACES))
    cluster.put(NODE, node("node-2", "10.0.0.12", COMPUTE, OPENVSWITCH))
    for each in wanted_services(spec):
        declared = each.declared
        cluster.put(declared.kind, service_object(thing, spec, each))
        seen = await observe(declared, SETTINGS, cluster, (NAMESPACE, each.name), 0.0)
        assert not seen.errors, seen.errors
        found |= {chart.release(each.name): chart_values(seen, seen.context, chart) for chart in declared.charts}
    return found


def node(name, address, *labels):
    status = {"addresses": [{"type": "InternalIP", "address": address}]}
    return {"metadata": {"name": name, "labels": dict(labels)}, "status": status}


def text(values):
    return yaml.dump(values, Dumper=yaml.CSafeDumper, sort_keys=True, width=120, allow_unicode=True)


@pytest.mark.parametrize("size", SIZES)
async def test_the_values_of_each_size_are_as_they_were_reviewed(size, golden):
    golden(f"values/core-{size}.yaml", text(await values_of(cloud("core", size))))


async def test_additions_of_the_preset_for_large_clouds_are_as_reviewed(golden):
    """With its Ceph elsewhere."""
    core, compute = await values_of(cloud("core", "tiny")), await values_of(cloud("compute", "tiny"))
    assert set(PRESETS) == {"core", "compute"}
    golden("values/compute-tiny.yaml", text({name: v for name, v in compute.items() if core.get(name) != v}))


async def test_the_values_with_storage_are_as_they_were_reviewed(golden):
    """With a Ceph of the cloud's own."""
    services = ["ceph", "block-storage", "object-storage"]
    with_storage = await values_of(cloud(features={"services": services, "nova": {"images": {"backend": "ceph"}}}))
    core = await values_of(cloud())
    golden("values/storage.yaml", text({name: v for name, v in with_storage.items() if core.get(name) != v}))


async def test_the_values_with_ovn_are_as_they_were_reviewed(golden):
    away = ["~ingress", "~image", "~placement", "~compute", "~dashboard"]
    found = await values_of(cloud(features={"services": away, "neutron": {"backend": "ml2/ovn"}}))
    others = ("database", "identity", "memcached")
    names = {chart.name for each in SERVICES if each.service in others for chart in each.charts}
    golden(
        "values/ovn.yaml", text({name: v for name, v in found.items() if name.removeprefix("openstack-") not in names})
    )


async def test_the_values_with_all_features_are_as_they_were_reviewed(golden):
    thing = cloud(
        size="tiny",
        public_domain_name="cloud.example.org",
        internal_domain_name="k8s.example.org",
        region_name="Here",
        local_volume_storage_class="fast",
        features={
            "services": ["~dashboard"],
            "keystone": {"users": {"admin": {"project_name": "ops"}}},
            "glance": {"backends": {"file": {"slow": {"default": True, "pvc": {"size": "9Gi"}}}}},
            "nova": {
                "live_migration_interface": "live0",
                "vcpu_type": "Nehalem",
                "allocation_ratios": {"cpu": 2.5},
                "images": {"backend": "raw"},
                "console": {"novnc": {"enabled": False}},
                "libvirt": {"tls": {"enabled": False}},
            },
            "neutron": {
                "tunnel_interface": "tunnel0",
                "dns_servers": ["192.0.2.53"],
                "tenant_network_types": ["vlan", "vxlan"],
                "external_networks": [
                    {
                        "physnet": "physnet1",
                        "bridge": "br-ex",
                        "interface": "ext0",
                        "network_types": ["flat", "vlan"],
                        "vlan_ranges": "100:199,300:301",
                        "mtu": 9000,
                    }
                ],
                "floating_network": {
                    "enabled": True,
                    "physnet": "physnet1",
                    "network_type": "vlan",
                    "segmentation_id": 42,
                    "subnet": {
                        "range": "192.0.2.0/24",
                        "pool_start": "192.0.2.10",
                        "pool_end": "192.0.2.99",
                        "gateway": "192.0.2.1",
                    },
                },
                "extensions": {"trunk": {"enabled": False}},
            },
            "messaging": {"components_with_dedicated_messaging": ["compute"]},
            "network_policies": {"enabled": False},
            "logging": {
                "keystone": {"level": "DEBUG"},
                "neutron": {"level": "DEBUG"},
                "cadf": {"enabled": True, "driver": "messagingv2"},
            },
        },
    )
    golden("values/all-features.yaml", text(await values_of(thing)))


# A service with a DaemonSet, so that all levels can be seen; it answers to the word identity.
AGENT = Service(
    service="identity",
    name="agent",
    group="openstack",
    resource=Keystone,
    charts=(Chart("keystone", lambda context: {"who": "built", "list": ["built", "base"]}, daemonsets=("agent",)),),
)
# In rising priority: main/features < common.charts < common.<group> < services < nodes.
LEVELS = (
    "common.charts.values",
    "common.charts.releases",
    "common.openstack.values",
    "common.openstack.releases",
    "services",
)


def spec_of(*levels):
    """A spec in which some levels contain their own name: each at `who`, at a separate place, and in the list."""
    spec = {}
    for level in levels:
        values = {"who": level, level.replace(".", "_"): True, "list": [level]}
        group, _, part = level.removeprefix("common.").partition(".")
        if level == "services":
            spec["services"] = {"identity": {"keystone": {"values": values}}}
        elif part == "values":
            spec.setdefault("common", {}).setdefault(group, {})["values"] = values
        else:
            spec.setdefault("common", {}).setdefault(group, {})["releases"] = {"keystone": {"values": values}}
    return spec


def agent_values(spec, nodes=None):
    parsed, errors = parse(cloud(**spec))
    assert parsed is not None, errors
    if nodes:  # no declared service has a DaemonSet yet, so the whole spec would be refused
        parsed = type(parsed).model_validate({**cloud(**spec)["spec"], "nodes": nodes})
    levels = [{"source": str(level), "values": values} for level, values in overrides(parsed, AGENT) if values]
    context = Context("agent", NAMESPACE, ServiceSpec(overrides=levels), {})
    return chart_values(Observed(AGENT, SETTINGS, {}, 0.0, context), context, AGENT.charts[0])


@pytest.mark.parametrize("count", range(len(LEVELS) + 1))
def test_each_level_overrides_earlier_ones_and_removes_nothing_else(count):
    levels = LEVELS[:count]
    values = agent_values(spec_of(*levels))
    assert values["who"] == (levels[-1] if levels else "built")
    assert values["list"] == ["built", "base", *levels]
    assert {name for name, value in values.items() if value is True} == {name.replace(".", "_") for name in levels}


@pytest.mark.parametrize(("lower", "higher"), [(a, b) for i, a in enumerate(LEVELS) for b in LEVELS[i + 1 :]])
def test_the_later_of_two_levels_wins_in_any_written_order(lower, higher):
    assert agent_values(spec_of(lower, higher))["who"] == agent_values(spec_of(higher, lower))["who"] == higher


def test_values_of_another_group_do_not_concern_a_service():
    assert agent_values({"common": {"infra": {"values": {"who": "infra"}}}})["who"] == "built"


def test_all_levels_together_are_as_they_were_reviewed(golden):
    nodes = {
        "rack::r1": {"services": {"identity": {"keystone": {"agent": {"values": {"conf": {"rack": 1}}}}}}},
        "rack::r2": {"services": {"identity": {"keystone": {"agent": {"values": {"conf": {"rack": 2}}}}}}},
    }
    spec = spec_of(*LEVELS)
    spec["services"]["identity"]["keystone"]["values"]["list"] = ["~base", "~common.charts.values", "services"]
    golden("values/levels.yaml", text(agent_values(spec, nodes)))


def test_values_of_some_nodes_are_separate_and_do_not_affect_others():
    nodes = {"rack::r1": {"services": {"identity": {"keystone": {"agent": {"values": {"who": "nodes"}}}}}}}
    values = agent_values(spec_of(*LEVELS), nodes)
    assert values["who"] == "services"
    assert values["overrides"] == {"agent": {"labels": {"rack::r1": {"who": "nodes"}}}}
    services = {
        "identity": {"keystone": {"values": {"overrides": {"agent": {"labels": {"rack::r1": {"who": "services"}}}}}}}
    }
    both = agent_values({"services": services}, nodes)
    assert both["overrides"]["agent"]["labels"]["rack::r1"] == {"who": "nodes"}, "nodes win over services"
