from __future__ import annotations

import pytest

from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.api.deployment import OpenStackDeployment
from stackwright.cli.cluster import CliError
from stackwright.cli.wait import Goal, Patience, follow
from stackwright.core.plan import Object
from stackwright.runtime.memory import MemoryCluster

KIND = OpenStackDeployment.KIND


def cloud(status: str = "", reason: str = "", message: str = "") -> Object:
    obj: Object = {
        "metadata": {"namespace": "openstack", "name": "cloud"},
        "spec": {"openstack_version": "epoxy", "preset": "core", "size": "single"},
    }
    if status:
        ready = {"type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": 1}
        obj["status"] = {"conditions": [{**ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    return obj


class Told(list[str]):
    """What was said; each saying may change the cluster, as time does."""

    def __init__(self, cluster: MemoryCluster, *then: Object | None) -> None:
        self.cluster, self.then = cluster, list(then)

    def __call__(self, text: str) -> None:
        self.append(text.strip())
        if self.then:
            following = self.then.pop(0)
            if following is None:
                self.cluster.remove(KIND, ("openstack", "cloud"))
            else:
                self.cluster.put(KIND, following)


QUICK = Patience(every=0.001, timeout=5)


async def test_each_cause_is_told_until_it_is_ready() -> None:
    cluster = MemoryCluster()
    cluster.put(KIND, cloud("False", "Waiting", "MariaDB starts"))
    told = Told(cluster, cloud("False", "Waiting", "Keystone starts"), cloud("True", "Ready"))
    await follow(cluster, "openstack", None, QUICK, told)
    name = "OpenStackDeployment openstack/cloud"
    assert told == [f"0s … {name}: MariaDB starts", f"0s … {name}: Keystone starts", f"0s ✓ {name}: is ready"]


async def test_what_somebody_has_just_mended_is_not_told_as_blocked() -> None:
    """The operator may not have looked yet."""
    cluster = MemoryCluster()
    cluster.put(KIND, cloud("False", "BlockedNoNode", "label a node"))
    told = Told(cluster, cloud("True", "Ready"))
    await follow(cluster, "openstack", "cloud", QUICK, told)
    assert told[-1].endswith("is ready")


async def test_who_must_act_is_told_soon() -> None:
    cluster = MemoryCluster()
    cluster.put(KIND, cloud("False", "BlockedNoNode", "label a node"))
    with pytest.raises(CliError, match=r"somebody must act:\n✗ OpenStackDeployment openstack/cloud .*label a node"):
        await follow(cluster, "openstack", "cloud", Patience(every=0.001, blocked=0.01), Told(cluster))
    patient = Patience(keep_waiting=True, every=0.001)
    await follow(cluster, "openstack", "cloud", patient, Told(cluster, cloud("True", "Ready")))


async def test_a_time_out_ends_with_the_causes() -> None:
    cluster = MemoryCluster()
    cluster.put(KIND, cloud())
    with pytest.raises(CliError, match=r"was not ready after 0 s:\n\? .*\nNo operator runs"):
        await follow(cluster, "openstack", None, Patience(timeout=0), Told(cluster))


async def test_until_it_is_gone() -> None:
    cluster = MemoryCluster()
    cluster.put(KIND, cloud())
    told = Told(cluster, None)
    await follow(cluster, "openstack", "cloud", Patience(Goal.DELETED, every=0.001), told)
    assert told[-1].endswith("is gone")
    await follow(cluster, "openstack", None, Patience(Goal.DELETED), Told(cluster))


async def test_nothing_to_wait_for() -> None:
    with pytest.raises(CliError, match="There is no cloud in namespace openstack"):
        await follow(MemoryCluster(), "openstack", None, QUICK)


async def test_a_control_plane_is_waited_for_as_well() -> None:
    cluster = MemoryCluster()
    ready = cloud("True", "Ready")["status"]
    spec = {"secret": "osp-secret", "storageClass": ""}
    cluster.put(OpenStackControlPlane.KIND, {**cloud(), "spec": spec, "status": ready})
    told = Told(cluster)
    await follow(cluster, "openstack", "cloud", QUICK, told)
    assert told == ["0s ✓ OpenStackControlPlane openstack/cloud: is ready"]
