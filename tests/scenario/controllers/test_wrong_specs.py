"""Specs that violate a rule and that no API server checked: reported with the rule's message; nothing is created.

This applies to objects that were stored before the rule existed. The functional tests and those of the API cover the
messages of an API server, and which fields of an object may change.
"""

from __future__ import annotations

import pytest

from stackwright.api.meta import Kind
from stackwright.core.plan import Object
from tests.scenario.capi_world import CLUSTERS, IDENTITY, MACHINES, PART, SERVERS, Clusters
from tests.scenario.pool_world import POOLS
from tests.scenario.server_world import SPEC

pytestmark = pytest.mark.looptime
ROOT = {"name": "root", "sizeGiB": 1, "storage": {"type": "Local"}}
RULE = {"name": "ssh", "direction": "ingress"}
GROUP = {"filter": {"name": "web"}}
INSIDE = {"enableExternalNetwork": False, "apiServer": {"enableFloatingIP": False}}
GOOD: dict[Kind, Object] = {
    SERVERS: SPEC,
    MACHINES: PART,
    CLUSTERS: {"identityRef": IDENTITY},
    POOLS: {"identityRef": IDENTITY},
}
ADDRESS = "spec.bastion.floatingIP: must be absent without an external network"
FLOATING = (
    "spec.apiServer.enableFloatingIP: must be false (disableAPIServerFloatingIP: true) without an external network"
)
DEVICE = "spec.additionalBlockDevices: a device named root is not allowed together with rootVolume"
UNSECURED = "spec.ports[0].securityGroups: must be absent if port security is disabled"
WRONG: list[tuple[Kind, Object, str]] = [
    *(
        case
        for kind in (SERVERS, MACHINES)
        for case in (
            (kind, {"rootVolume": {"sizeGiB": 1}, "additionalBlockDevices": [ROOT]}, DEVICE),
            (kind, {"ports": [{"enablePortSecurity": False, "securityGroups": [GROUP]}]}, UNSECURED),
            (kind, {"image": {"id": "jammy"}}, "spec.image.id: must be a UUID, not 'jammy'"),
            (kind, {"rootVolume": {"sizeGiB": 0}}, "spec.rootVolume.sizeGiB: "),
            (kind, {"identityRef": {**IDENTITY, "type": "Vault"}}, "spec.identityRef.type: 'Vault' is not allowed"),
        )
    ),
    (SERVERS, {"ports": []}, "spec.ports: "),
    (SERVERS, {"identityRef": {**IDENTITY, "cloudName": ""}}, "spec.identityRef.cloudName: "),
    (CLUSTERS, {**INSIDE, "bastion": {"spec": PART, "floatingIP": "198.51.100.1"}}, ADDRESS),
    (CLUSTERS, {"enableExternalNetwork": False}, FLOATING),
    (CLUSTERS, {"bastion": {"enabled": True}}, "spec.bastion.spec: is required while the bastion is enabled"),
    (CLUSTERS, {"bastion": {"spec": PART, "floatingIP": "x"}}, "spec.bastion.floatingIP: must be an IPv4 address"),
    (
        CLUSTERS,
        {"bastion": {"spec": {**PART, "rootVolume": {"sizeGiB": 1}, "additionalBlockDevices": [ROOT]}}},
        DEVICE.replace("spec.", "spec.bastion.spec."),
    ),
    (CLUSTERS, {"managedSubnets": [{"cidr": "10.0.0.0/24"}, {"cidr": "10.0.1.0/24"}]}, "spec.managedSubnets: "),
    (CLUSTERS, {"managedNetwork": {}}, "spec.managedNetwork: must not be empty"),
    (CLUSTERS, {"apiServerLoadBalancer": {"enabled": True}}, "spec.apiServerLoadBalancer.enabled: is not supported"),
    (
        CLUSTERS,
        {
            "managedSecurityGroups": {
                "workerNodesSecurityGroupRules": [{**RULE, "remoteGroupID": "a", "remoteIPPrefix": "::/0"}]
            }
        },
        "at most one of remoteGroupID, remoteIPPrefix, remoteManagedGroups",
    ),
    (POOLS, {"preAllocatedFloatingIPs": ["x"]}, "spec.preAllocatedFloatingIPs[0]: must be an IPv4 address, not 'x'"),
    (POOLS, {"reclaimPolicy": "Keep"}, "spec.reclaimPolicy: 'Keep' is not allowed; allowed: 'Retain' or 'Delete'"),
]


def smuggle(world: Clusters, kind: Kind, spec: Object) -> None:
    world.write(kind, "a", GOOD[kind])
    world.smuggle(kind, "a", spec)


@pytest.mark.parametrize(("kind", "wrong", "message"), WRONG, ids=lambda each: getattr(each, "kind", str(each)[:60]))
async def test_an_invalid_spec_is_reported_creates_nothing_and_can_be_corrected_or_deleted(
    kind: Kind, wrong: Object, message: str
) -> None:
    world = Clusters(core=True)
    for what, name in (("network", "private"), ("security-group", "web")):
        world.foreigner(what, name)
    smuggle(world, kind, {**GOOD[kind], **wrong})
    await world.run(60)
    asked = world.clouds.asked
    await world.run(300)
    reason, text = world.told(kind=kind, name="a")
    assert reason == "BlockedInvalidSpec"
    assert message in text
    assert (world.clouds.asked, world.clouds.calls) == (asked, [])
    assert len(world.reconciles) < 60
    world.write(kind, "a", GOOD[kind])
    await world.run(60)
    assert world.told(kind=kind, name="a")[0] != "BlockedInvalidSpec"
    if "identityRef" not in wrong:  # otherwise leftovers would be unknown
        smuggle(world, kind, {**GOOD[kind], **wrong})
    world.delete(kind, "a")
    await world.run(120)
    assert not world.get(kind, "a")
    assert world.there() == []
