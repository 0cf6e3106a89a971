"""Clusters, bastions and machines during faults: refusals, timeouts, lost credentials, a crash at any write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from stackwright.controllers.infra.cloud_observation import LOGIN
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError
from tests.scenario.capi_world import (
    BASTION,
    CLUSTERS,
    GUARDED,
    IDENTITY,
    MACHINES,
    PART,
    SERVERS,
    Clusters,
    killed_everywhere,
    lost_everywhere,
    unheard_everywhere,
)
from tests.scenario.faulty_clouds import TROUBLES

pytestmark = pytest.mark.looptime
EVERYWHERE = pytest.mark.parametrize("everywhere", [lost_everywhere, unheard_everywhere], ids=["lost", "killed"])
OTHER = {**BASTION, "spec": {**PART, "sshKeyName": "other"}}
PLACES = (
    "look", "find", "create network", "create router", "create security-group", "create security-group-rule",
    "create floating-ip", "update router", "create server", "update floating-ip",
)  # fmt: skip
ENDS = ("look", "delete server", "delete floating-ip", "delete router", "delete security-group")


async def blank() -> Clusters:
    return Clusters()


async def guarded(**spec: Any) -> Clusters:
    """A cluster with a bastion."""
    world = Clusters()
    world.make(bastion=BASTION, **spec)
    await world.ready()
    return world


async def manned(**spec: Any) -> Clusters:
    """The same with a machine of the control plane, to which the API's address is assigned."""
    world = await guarded(**spec)
    world.machine(control_plane=True)
    await world.ready(MACHINES, "m")
    return world


def leave(world: Clusters) -> None:
    for kind, name in ((CLUSTERS, "c"), (MACHINES, "m")):
        world.delete(kind, name)


async def empty(world: Clusters) -> None:
    """Nothing remains in Kubernetes and in OpenStack."""
    await world.run(30)
    assert world.there() == []
    assert not any(world.names(kind) for kind in (CLUSTERS, MACHINES, SERVERS))


async def whole(world: Clusters) -> None:
    """All resources exist once, and the bastion is reachable."""
    await world.ready()
    assert world.there() == GUARDED
    assert len(world.clouds.all("security-group-rule")) == 20
    assert [ip.facts["port_id"] for ip in world.clouds.all("floating-ip") if ip.facts["port_id"]] == [
        world.one("port", "bastion").id
    ]


async def once(world: Clusters) -> None:
    await whole(world)
    assert not world.clouds.made_twice


# Refusals.


async def fail_at_each(world: Clusters, places: Iterable[str], trouble: TransientCloudError) -> None:
    """Each of these requests fails for some minutes, which the cluster reports without a hot loop; then none fails."""
    for where in places:
        world.clouds.fail = {where: trouble}
        await world.run(60)
        before = world.clouds.asked, len(world.reconciles)
        await world.run(240)
        assert world.told()[0] == trouble.reason, where
        assert str(trouble) in world.told()[1], where
        assert 2 < world.clouds.asked - before[0] < 120, where
        assert len(world.reconciles) - before[1] < 120, where
    world.clouds.fail = {}
    await world.run(120)


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.reason)
async def test_each_wrong_response_is_reported_without_a_hot_loop(trouble: TransientCloudError) -> None:
    world = Clusters()
    world.make(bastion=BASTION)
    await fail_at_each(world, PLACES, trouble)
    assert world.told()[0] == "Ready"


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.reason)
async def test_each_wrong_response_during_deletion_is_reported_without_a_hot_loop(trouble: TransientCloudError) -> None:
    world = await guarded()
    world.delete(CLUSTERS, "c")
    await fail_at_each(world, ENDS, trouble)
    await empty(world)


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.reason)
async def test_each_wrong_response_is_reported_by_the_machine_too(trouble: TransientCloudError) -> None:
    world = await guarded()

    def same() -> None:
        for type_ in ("Ready", "InstanceReady"):
            assert world.told(type_, MACHINES, "m")[0] == trouble.reason
        assert str(trouble) in world.told(kind=MACHINES, name="m")[1]

    for where in ("create port", "create server"):
        world.clouds.fail = {where: trouble}
        world.machine()
        before = len(world.reconciles)
        await world.run(300)
        same()
        assert len(world.reconciles) - before < 90
    world.clouds.fail = {}
    await world.run(90)
    assert world.told(kind=MACHINES, name="m")[0] == "Ready"
    world.clouds.fail = {"delete server": trouble}
    world.delete(MACHINES, "m")
    before = len(world.reconciles)
    await world.run(300)
    assert world.told(kind=MACHINES, name="m")[0] == trouble.reason
    assert len(world.reconciles) - before < 90
    world.clouds.fail = {}
    await world.run(90)
    assert not world.get(MACHINES, "m")


@pytest.mark.parametrize("seconds", [5, 40])
async def test_a_slow_cloud_gets_no_more_requests_than_a_fast_one(seconds: float) -> None:
    world = Clusters()
    world.clouds.slow = seconds
    world.make(bastion=BASTION)
    world.machine(control_plane=True)
    await world.run(150 * seconds)
    assert world.told()[0] == world.told(kind=MACHINES, name="m")[0] == "Ready"
    asked = world.clouds.asked
    await world.run(600)
    assert world.clouds.asked - asked < 80
    leave(world)
    await world.run(90 * seconds)
    await empty(world)


async def test_a_rejection_with_varying_messages_is_reported_once() -> None:
    world = Clusters(latency=0.1)
    world.clouds.wordy, world.clouds.fail["look"] = True, TROUBLES[0]
    world.make()
    await world.run(30)
    writes = len(world.cluster.writes)
    await world.run(300)
    assert world.told()[0] == "AuthenticationFailed"
    assert len(world.cluster.writes) == writes


# Crashes, and requests with an unknown result.


async def test_a_late_create_request_creates_no_duplicate() -> None:
    await unheard_everywhere(blank, lambda world: world.make(bastion=BASTION), once)


async def test_a_request_that_is_done_when_the_end_has_begun_leaves_nothing() -> None:
    await unheard_everywhere(blank, lambda world: world.make(bastion=BASTION), empty, then=leave)


@EVERYWHERE
async def test_a_request_of_a_change_of_the_bastion_that_is_done_after_all(everywhere: Any) -> None:
    await everywhere(guarded, lambda world: world.make(bastion=OTHER), once)


@EVERYWHERE
async def test_a_late_delete_request_leaves_no_resources(everywhere: Any) -> None:
    await everywhere(guarded, lambda world: world.delete(CLUSTERS, "c"), empty)


async def test_killed_at_every_write_while_the_bastion_is_turned_off() -> None:
    async def end(world: Clusters) -> None:
        await world.ready()
        assert not any("bastion" in name for name in world.there())
        assert world.there().count("floating-ip") == 1

    await killed_everywhere(guarded, lambda world: world.make(bastion={**BASTION, "enabled": False}), end)


async def test_a_recreation_of_lost_resources_survives_a_kill_at_every_write() -> None:
    async def start() -> Clusters:
        return await guarded(recreatePolicy="Always")

    def lose(world: Clusters) -> None:
        for what, name in (("port", "router"), ("router", ""), ("server", "")):
            found = [thing for thing in world.clouds.all(what) if name in thing.name and thing.mark]
            world.clouds.remove(what, found[0].id)
        address = world.status()["bastion"]["floatingIP"]
        (ip,) = [t for t in world.clouds.all("floating-ip") if t.facts["floating_ip_address"] == address]
        world.clouds.remove("floating-ip", ip.id)

    async def end(world: Clusters) -> None:
        await world.run(150)
        await whole(world)

    await killed_everywhere(start, lose, end)


async def test_killed_at_every_write_while_an_address_becomes_the_users() -> None:
    def take(world: Clusters) -> None:
        address = world.status()["apiServerFloatingIP"]["address"]
        world.make(bastion=BASTION, apiServer={"floatingIP": address})

    async def end(world: Clusters) -> None:
        world.delete(CLUSTERS, "c")
        await world.settle(patience=20)
        assert world.there() == ["floating-ip"]

    await killed_everywhere(guarded, take, end)


async def test_a_deletion_of_everything_survives_a_kill_at_every_write() -> None:
    await killed_everywhere(manned, leave, empty)


# Addresses.


@pytest.mark.parametrize("turned_off", [False, True])
async def test_addresses_added_to_the_spec_just_before_the_deletion_belong_to_the_user(turned_off: bool) -> None:
    world = await guarded()
    api, bastion = world.status()["apiServerFloatingIP"]["address"], world.status()["bastion"]["floatingIP"]
    await world.stop()
    world.make(apiServer={"floatingIP": api}, bastion={**BASTION, "enabled": not turned_off, "floatingIP": bastion})
    if turned_off:
        await world.ready()
    world.delete(CLUSTERS, "c")
    await world.settle()
    assert not world.get(CLUSTERS, "c")
    assert world.there() == ["floating-ip", "floating-ip"]
    assert {ip.facts["floating_ip_address"] for ip in world.clouds.all("floating-ip")} == {api, bastion}


# Credentials.


@pytest.mark.parametrize("cause", LOGIN)
async def test_the_policy_detach_keeps_existing_resources_and_reports_them(cause: Reason) -> None:
    world = await manned()
    before = world.there()
    refused = cause in (Reason.IDENTITY_ACCESS_DENIED, Reason.OTHER_PROJECT)
    error = (
        TerminalCloudError(cause, "no way", sure=True) if refused else TransientCloudError(cause, "no way", sure=True)
    )
    reason, world.clouds.fail["look"] = error.reason, error
    leave(world)
    await world.run(60)
    assert world.told(kind=MACHINES, name="m")[0] == reason
    assert world.told()[0] == "MachinesLeft"
    world.machine(control_plane=True, credentialsLostPolicy="Detach")
    await world.run(60)
    assert world.told()[0] == reason
    world.make(bastion=BASTION, credentialsLostPolicy="Detach")
    await world.run(60)
    assert not any(world.names(kind) for kind in (CLUSTERS, MACHINES, SERVERS))
    assert world.there() == before
    told = " ".join(message for _, reason, message, _ in world.cluster.events if reason == "LeftBehind")
    assert all(thing.id in told for thing in world.clouds.all() if thing.mark)


async def test_the_policy_orphan_sends_no_request() -> None:
    world = await manned()
    before = world.there()
    world.make(bastion=BASTION, credentialsLostPolicy="Orphan")
    world.machine(control_plane=True, credentialsLostPolicy="Orphan")
    await world.run(30)
    calls = len(world.clouds.calls)
    world.clouds.locked = {"clouds"}
    leave(world)
    await world.run(30)
    assert not any(world.names(kind) for kind in (CLUSTERS, MACHINES, SERVERS))
    assert (len(world.clouds.calls), world.there()) == (calls, before)


async def test_a_deletion_that_waits_for_credentials_continues_with_new_ones() -> None:
    world = await manned()
    world.clouds.locked = {"clouds"}
    leave(world)
    await world.run(120)
    assert world.told(kind=MACHINES, name="m")[0] == "CredentialsMissing"
    assert world.told()[0] == "MachinesLeft"
    world.make(bastion=BASTION, identityRef={**IDENTITY, "name": "others"})
    await world.run(120)
    await empty(world)


async def test_a_cluster_without_credentials_from_the_start_is_deleted_at_once() -> None:
    world = Clusters()
    world.clouds.locked = {"clouds"}
    world.make(bastion=BASTION)
    await world.run(60)
    assert world.told()[0] == "CredentialsMissing"
    world.delete(CLUSTERS, "c")
    await world.run(5)
    assert not world.get(CLUSTERS, "c")
