"""The lifecycle of an OpenStackServer: created, observed, changed by others, lost, deleted, with a crash at every
write.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackwright.core.openstack.errors import TransientCloudError
from stackwright.core.openstack.resources import ANSWERED
from tests.scenario.capi_world import killed_everywhere
from tests.scenario.faulty_clouds import TROUBLES
from tests.scenario.server_world import ALL, KIND, VOLUMES, WHOLE, Servers, made

pytestmark = pytest.mark.looptime


async def test_a_server_is_created_from_resolved_names_and_reported_when_active() -> None:
    world = await made()
    assert world.there() == ["port web-0", "server web"]
    status = world.status
    assert status["instanceID"] == world.one("server").id
    assert status["instanceState"] == "ACTIVE"
    assert status["resources"] == {"ports": [{"name": "web-0", "id": world.one("port").id}]}
    assert {a["type"] for a in status["addresses"]} == {"InternalIP", "InternalDNS"}
    assert [call.resource_key[0] for call in world.clouds.calls] == ["port", "server"]


async def test_volumes_and_trunks_are_created_before_the_server_and_deleted_with_it() -> None:
    world = await made(**WHOLE)
    assert world.there() == ALL
    devices = world.one("server").facts["block_device_mapping_v2"]
    assert [(d["source_type"], d["boot_index"]) for d in devices] == [("volume", 0), ("volume", -1), ("blank", -1)]
    world.delete(KIND, "web")
    await world.settle()
    assert world.there() == []
    assert not world.get()


async def test_a_users_copy_of_a_servers_volume_outlives_the_server() -> None:
    """The copy may also contain the server's metadata, and with it the mark."""
    world = await made(**WHOLE)
    await world.run(600)
    root = next(thing for thing in world.clouds.all("volume") if thing.name == "web-root")
    copy = replace(root, id="copied", name="mine", facts={**root.facts, "created_at": root.facts["created_at"] + 600})
    world.clouds.things["volume", "copied"] = copy
    await world.run(600)
    assert world.there() == sorted([*ALL, "volume mine"])
    assert world.status["ready"]
    world.delete(KIND, "web")
    await world.settle()
    assert world.there() == ["volume mine"]
    assert not world.get()
    told = [message for _, reason, message, _ in world.cluster.events if reason == "LeftBehind"]
    assert told == ["Left in the cloud, because they have our mark but may belong to another client: volume copied"]


async def test_a_second_volume_with_its_own_id_is_named_by_the_condition() -> None:
    world = await made(**WHOLE)
    root = next(thing for thing in world.clouds.all("volume") if thing.name == "web-root")
    world.clouds.things["volume", "second"] = replace(root, id="second", facts={**root.facts, ANSWERED: True})
    await world.run(600)
    (told,) = [each["message"] for each in world.status["conditions"] if each["type"] == "ResourcesReady"]
    assert told.endswith("delete the wrong ones: volume second")
    assert world.status["ready"]


async def test_volumes_of_unknown_origin_are_reported_and_kept() -> None:
    """The volumes are from a release that wrote no ids into them; a backup restored the object without its status."""
    world = await made(**WHOLE)
    await world.stop()
    world.cluster.put(KIND, {name: value for name, value in world.get().items() if name != "status"})
    root = next(thing for thing in world.clouds.all("volume") if thing.name == "web-root")
    world.clouds.edit(root, answered=False)
    copy = replace(root, id="older", name="mine", facts={**root.facts, "answered": False, "created_at": 0.0})
    world.clouds.things["volume", "older"] = copy
    before = world.there()
    await world.run(120)
    reason, message = world.told()
    assert reason == "BlockedResourceAmbiguous"
    assert message == (
        f"Several volumes have the mark of this server, and which one belongs to it is unknown: older, {root.id}; "
        "remove stackwright.dev/mark from the metadata of the others"
    )
    assert world.there() == before
    world.clouds.edit(copy, mark="")
    await world.run(120)
    assert world.status["ready"], world.told()
    assert root.id in str(world.status["resources"])
    assert world.there() == before


async def test_at_rest_nothing_is_written() -> None:
    world = await made()
    writes, calls = len(world.cluster.writes), len(world.clouds.calls)
    await world.run(600)
    assert (len(world.cluster.writes), len(world.clouds.calls)) == (writes, calls)


async def test_killed_at_every_write_it_converges_without_a_duplicate_or_an_orphan() -> None:
    async def start() -> Servers:
        return Servers()

    async def end(world: Servers) -> None:
        await world.ready()
        assert world.there() == ALL

    await killed_everywhere(start, lambda world: world.server(**WHOLE), end)


async def test_a_deletion_killed_at_every_write_leaves_no_resources() -> None:
    async def start() -> Servers:
        return await made(**WHOLE)

    async def end(world: Servers) -> None:
        assert world.there() == []
        assert not world.get()

    await killed_everywhere(start, lambda world: world.delete(KIND, "web"), end)


async def test_deletion_needs_neither_the_spec_nor_its_references() -> None:
    world = await made(**VOLUMES)
    await world.stop()
    for thing in world.clouds.all():
        if thing.type in ("image", "flavor", "network", "security-group"):
            world.clouds.remove(thing.type, thing.id)
    world.delete(KIND, "web")
    await world.settle()
    assert world.there() == []


async def test_half_created_resources_are_deleted_completely() -> None:
    for seconds in (0.5, 1.5, 3, 6, 9, 12, 20):
        world = Servers()
        world.server(**WHOLE)
        await world.run(seconds)
        world.delete(KIND, "web")
        await world.settle()
        assert world.there() == [], seconds
        await world.stop()


async def test_nothing_is_created_during_a_deletion() -> None:
    world = await made(**VOLUMES)
    world.delete(KIND, "web")
    before = len(world.clouds.calls)
    await world.settle()
    assert {call.do for call in world.clouds.calls[before:]} == {"delete"}


async def test_a_deleted_server_is_reported_and_not_recreated() -> None:
    world = await made()
    world.clouds.remove("server", world.status["instanceID"])
    await world.run(300)
    reason, message = world.told()
    assert reason == "BlockedInstanceNotFound"
    assert "recreatePolicy" in message
    assert (world.status["ready"], world.status["instanceState"]) == (False, "DELETED")
    assert world.there() == ["port web-0"]


async def test_a_deleted_server_is_recreated_with_the_same_port_by_policy() -> None:
    world = await made(recreatePolicy="Always", **VOLUMES)
    port, server = world.one("port").id, world.one("server")
    world.clouds.become(server, "ACTIVE")
    world.clouds.remove("server", server.id)
    await world.run(600)
    assert world.status["ready"], world.told()
    assert world.there() == ["port web-0", "server web", "volume web-data", "volume web-root"]
    assert world.one("port").id == port
    assert world.one("server").id != server.id


async def test_a_lost_port_is_reported_and_the_policy_may_be_set_later() -> None:
    world = await made()
    world.clouds.remove("port", world.one("port").id)
    await world.run(300)
    assert world.told()[0] == "BlockedResourceNotFound"
    world.server(recreatePolicy="Always")
    await world.run(300)
    assert world.status["ready"], world.told()
    assert world.there() == ["port web-0", "server web"]


async def test_foreign_changes_are_reverted() -> None:
    world = await made(serverMetadata=[{"key": "a", "value": "1"}])
    world.clouds.become(world.one("port"), "", security_groups=["other"])
    world.clouds.become(world.one("server"), "ACTIVE", metadata={"a": "2", "b": "3"})
    await world.run(300)
    assert world.one("port").facts["security_groups"] == [world.clouds.all("security-group")[0].id]
    assert world.one("server").facts["metadata"]["a"] == "1"


GONE = ("DELETED", "SOFT_DELETED")
STATES = {
    "ERROR": "InstanceStateError",
    **dict.fromkeys(
        ("SHUTOFF", "STOPPED", "PAUSED", "SUSPENDED", "SHELVED", "SHELVED_OFFLOADED"), "InstanceNotRunning"
    ),
    **dict.fromkeys(("REBOOT", "HARD_REBOOT", "RESCUE", "VERIFY_RESIZE", "UNKNOWN", "new"), "InstanceNotReady"),
    **dict.fromkeys(("BUILD", ""), "InstanceBuilding"),
    **dict.fromkeys(GONE, "BlockedInstanceNotFound"),
}


@pytest.mark.parametrize(("state", "reason"), STATES.items())
async def test_each_state_of_nova_is_reported_and_none_is_final(state: str, reason: str) -> None:
    world = await made()
    world.clouds.become(world.one("server"), state, fault="No valid host was found")
    await world.run(300)
    assert world.told()[0] == world.told("InstanceReady")[0] == reason
    words = {"ERROR": "ERROR: No valid host was found", "BUILD": "is being built"}
    words |= {"": "is being built", **dict.fromkeys(GONE, "recreatePolicy")}
    assert words.get(state, state) in world.told()[1]
    assert not world.status["ready"]
    assert world.status.get("instanceState", "") == ("DELETED" if state in GONE else state)
    world.clouds.become(world.one("server"), "ACTIVE")
    await world.run(300)
    assert world.status["ready"]
    assert world.there() == ["port web-0", "server web"]


@pytest.mark.parametrize("where", ["look", "find", "create port", "create trunk", "create volume", "create server"])
@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.reason)
async def test_each_wrong_response_becomes_a_condition_without_a_hot_loop(where: str, trouble: Exception) -> None:
    world = Servers()
    world.clouds.fail[where] = trouble
    world.server(**WHOLE)
    await world.run(300)
    reason, message = world.told()
    assert reason == trouble.reason  # type: ignore[attr-defined]
    assert str(trouble) in message
    assert len(world.reconciles) < 60
    assert world.clouds.asked < 90
    del world.clouds.fail[where]
    await world.run(90)
    assert world.status["ready"], world.told()
    assert world.there() == ALL


@pytest.mark.parametrize("what", ["create port", "create volume", "create server"])
async def test_a_request_that_succeeds_but_seems_to_fail_creates_no_duplicate(what: str) -> None:
    world = Servers()
    world.clouds.lose.add(what)
    world.server(**VOLUMES)
    await world.ready()
    assert world.there() == ["port web-0", "server web", "volume web-data", "volume web-root"]


async def test_names_without_or_with_several_matches_are_reported_together() -> None:
    world = Servers()
    world.clouds.put("network", "private")
    world.server(flavor="huge")
    await world.run(60)
    reason, message = world.told()
    assert reason == "DependencyFailed"
    assert "spec.flavor: flavor with name huge must match exactly one: found none" in message
    assert "spec.ports[0].network" in message
    world.clouds.put("flavor", "huge")
    world.clouds.remove("network", world.clouds.all("network")[-1].id)
    await world.run(60)
    assert world.status["ready"]


async def test_servers_of_the_same_name_are_not_confused() -> None:
    world = await made()
    foreign = world.clouds.put("server", "web")
    port = world.clouds.put("port", "web-0")
    world.delete(KIND, "web")
    await world.settle()
    assert {foreign.id, port.id} <= {thing.id for thing in world.clouds.all()}
    world.server()
    await world.ready()
    assert world.status["instanceID"] != foreign.id


async def test_lost_credentials_block_the_deletion_of_a_server_until_the_policy_permits_it() -> None:
    world = await made()
    world.clouds.fail["look"] = TransientCloudError("CredentialsMissing", "there is no Secret", sure=True)
    world.delete(KIND, "web")
    await world.run(300)
    reason, message = world.told()
    assert reason == "CredentialsMissing"
    assert "credentialsLostPolicy" in message
    world.cluster.put(KIND, {**world.get(), "spec": {**world.get()["spec"], "credentialsLostPolicy": "Detach"}})
    await world.settle()
    assert not world.get()
    assert world.there() == ["port web-0", "server web"]


async def test_a_paused_server_is_not_changed() -> None:
    world = Servers()
    world.server()
    obj = world.get()
    world.cluster.put(KIND, {**obj, "metadata": {**obj["metadata"], "annotations": {"cluster.x-k8s.io/paused": ""}}})
    await world.run(60)
    assert world.there() == []
