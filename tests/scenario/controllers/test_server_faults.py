"""OpenStackServers during faults: refusals, timeouts, lost credentials, lost records, a crash at any write."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.controllers.infra.cloud_observation import LOGIN
from stackwright.controllers.infra.clusterapi import IMAGE
from stackwright.controllers.infra.origin import identity
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resources import CREATED, SERVER_KEY, mark
from support import openstack
from tests.scenario.capi_world import killed_everywhere, lost_everywhere, unheard_everywhere
from tests.scenario.faulty_clouds import TROUBLES
from tests.scenario.server_world import ALL, IDENTITY, KIND, SPEC, WHOLE, Servers, deleted_unheard, made
from tests.scenario.world import NAMESPACE

pytestmark = pytest.mark.looptime
EVERYWHERE = pytest.mark.parametrize("everywhere", [lost_everywhere, unheard_everywhere], ids=["lost", "killed"])
BLANK = {"identityRef": IDENTITY, "flavor": "gone", "image": {"filter": {"name": "gone"}}, "sshKeyName": "gone"}


async def whole() -> Servers:
    return await made(**WHOLE)


async def gone(world: Servers) -> None:
    """Nothing remains in Kubernetes and in OpenStack."""
    assert world.there() == []
    assert not world.get()


def left_behind(world: Servers) -> str:
    (told,) = [message for _, reason, message, _ in world.cluster.events if reason == "LeftBehind"]
    return told


# Waiting.


async def test_a_volume_that_cinder_cannot_create_is_reported_and_checked_again() -> None:
    world = Servers()
    world.server(rootVolume={"sizeGiB": 10})
    while not world.clouds.all("volume"):
        await world.run(0.001)
    world.clouds.become(world.one("volume"), "error")
    await world.run(120)
    assert world.told() == world.told("ResourcesReady") == ("VolumeError", "Volume web-root is error")
    assert world.there() == ["port web-0", "volume web-root"]
    world.clouds.become(world.one("volume"), "available")
    await world.ready()


async def test_an_image_object_that_is_not_ready_is_waited_for() -> None:
    world = Servers()
    world.server(image={"imageRef": {"name": "jammy"}})
    await world.run(60)
    assert world.told() == ("DependencyFailed", "spec.image.imageRef: Waiting for Image jammy")
    assert world.there() == []
    world.cluster.put(IMAGE, {"metadata": {"name": "jammy", "namespace": NAMESPACE}, "status": {"id": "made"}})
    await world.run(60)
    assert world.status["ready"], world.told()
    assert world.one("server").facts["imageRef"] == "made"


# Refusals.


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.reason)
async def test_each_wrong_response_during_deletion_is_reported_without_a_hot_loop(trouble: TransientCloudError) -> None:
    world = await whole()
    world.delete(KIND, "web")
    for where in ("look", "delete server", "delete trunk", "delete port"):
        world.clouds.fail = {where: trouble}
        await world.run(30)
        before = world.clouds.asked
        await world.run(270)
        assert world.told()[0] == trouble.reason, where
        assert str(trouble) in world.told()[1]
        assert 2 < world.clouds.asked - before < 60, where
    world.clouds.fail = {}
    await world.run(120)
    await gone(world)


@pytest.mark.parametrize("where", ["look", "find", "create port", "delete port"])
@pytest.mark.parametrize(
    "trouble", [TROUBLES[0], TransientCloudError("Unreachable", "no way")], ids=lambda each: each.reason
)
async def test_a_rejection_with_varying_messages_is_reported_once(where: str, trouble: TransientCloudError) -> None:
    """Each change of a status causes a reconcile: varying messages would be a hot loop."""
    world = Servers(latency=0.1)
    world.clouds.wordy, world.clouds.fail[where] = True, trouble
    world.server()
    if where.startswith("delete"):
        await world.ready()
        world.delete(KIND, "web")
    await world.run(30)
    asked, writes = world.clouds.asked, len(world.cluster.writes)
    await world.run(300)
    assert world.told()[0] == trouble.reason
    assert "Request-ID" not in world.told()[1]
    assert 2 < world.clouds.asked - asked < 60
    assert len(world.cluster.writes) == writes


@pytest.mark.parametrize("seconds", [5, 40])
async def test_a_slow_cloud_gets_no_more_requests_than_a_fast_one(seconds: float) -> None:
    world = Servers()
    world.clouds.slow = seconds
    world.server(**WHOLE)
    await world.run(60 * seconds)
    assert world.status["ready"], world.told()
    assert world.clouds.asked < 60
    asked = world.clouds.asked
    await world.run(600)
    assert world.clouds.asked - asked < 12
    world.delete(KIND, "web")
    await world.run(30 * seconds)
    await gone(world)
    assert len(world.clouds.calls) == 8


async def test_a_slow_deletion_is_requested_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openstack, "GO", 100.0)
    world = await made(recreatePolicy="Always", **WHOLE)
    world.clouds.remove("port", world.one("port").id)
    await world.run(600)
    assert world.status["ready"], world.told()
    world.delete(KIND, "web")
    await world.run(300)
    await gone(world)
    deleted = [call.id for call in world.clouds.calls if call.do == "delete"]
    assert len(set(deleted)) == len(deleted)


# Crashes, and requests with an unknown result.


async def blank() -> Servers:
    return Servers()


@EVERYWHERE
async def test_a_late_create_request_creates_no_duplicate(everywhere: Any) -> None:
    async def end(world: Servers) -> None:
        await world.ready()
        assert world.there() == ALL
        assert not world.clouds.made_twice

    await everywhere(blank, lambda world: world.server(**WHOLE), end)


async def test_a_request_that_is_done_when_the_end_has_begun_leaves_nothing() -> None:
    def leave(world: Servers) -> None:
        world.delete(KIND, "web")

    await unheard_everywhere(blank, lambda world: world.server(**WHOLE), gone, then=leave)


async def test_a_response_lost_before_the_deletion_leaves_no_resources() -> None:
    for number in range(1, 6):
        world = await deleted_unheard(number)
        await world.settle(patience=20)
        await gone(world)
        await world.stop()


@EVERYWHERE
async def test_a_late_delete_request_leaves_no_resources(everywhere: Any) -> None:
    await everywhere(whole, lambda world: world.delete(KIND, "web"), gone)


@pytest.mark.parametrize("what", ["server", "port", "volume"])
async def test_a_recreation_survives_a_kill_at_every_write(what: str) -> None:
    async def start() -> Servers:
        return await made(recreatePolicy="Always", **WHOLE)

    def lose(world: Servers) -> None:
        world.clouds.remove(what, world.clouds.all(what)[0].id)

    async def end(world: Servers) -> None:
        await world.run(90)
        assert world.status["ready"], world.told()
        assert world.there() == ALL

    await killed_everywhere(start, lose, end)


# Sources of its resources: first the record, then the marks.


async def test_without_its_record_all_is_found_by_its_marks() -> None:
    world = await whole()
    await world.stop()
    before = {thing.id for thing in world.clouds.all()}
    world.cluster.put(KIND, {name: value for name, value in world.get().items() if name != "status"})
    await world.ready()
    assert {thing.id for thing in world.clouds.all()} == before
    assert world.status["instanceID"] == world.one("server").id


@pytest.mark.parametrize("marks", [True, False], ids=["marks", "record"])
async def test_a_deletion_needs_the_record_or_marks_and_nothing_of_the_spec(marks: bool) -> None:
    world = await whole()
    await world.stop()
    for thing in world.clouds.all():
        if thing.type in ("image", "flavor", "network", "security-group"):
            world.clouds.remove(thing.type, thing.id)
        elif not marks:
            world.clouds.edit(thing, mark="")
    obj = world.get()
    kept = obj if not marks else {name: value for name, value in obj.items() if name != "status"}
    world.cluster.put(KIND, {**kept, "spec": {**BLANK, "ports": [{}]}})
    world.delete(KIND, "web")
    await world.settle()
    await gone(world)


async def taken_over(*fields: str, **spec: Any) -> Servers:
    """A server that Cluster API Provider OpenStack created, without marks, and with its status: it has no names."""
    world = await made(ports=[*SPEC["ports"], *SPEC["ports"]], **spec)
    await world.stop()
    for thing in world.clouds.all():
        world.clouds.edit(thing, mark="")
    obj, status = world.get(), world.status
    resources = {field: [{"id": each["id"]} for each in status["resources"][field]] for field in fields}
    status = {"resources": resources, "resolved": status["resolved"], "instanceID": status["instanceID"]}
    meta = {name: value for name, value in obj["metadata"].items() if name not in ("annotations", "finalizers")}
    world.cluster.put(KIND, {"metadata": meta, "spec": obj["spec"], "status": status})
    return world


@pytest.mark.parametrize(
    ("fields", "spec"),
    [(["ports"], {}), (["ports", "trunks", "volumes"], WHOLE), (["ports"], WHOLE), ([], WHOLE)],
    ids=["ports", "all", "partial", "none"],
)
async def test_a_record_of_another_operator_is_that_of_the_same_resources(fields: list[str], spec: Any) -> None:
    world = await taken_over(*fields, **spec)
    before, calls = world.there(), len(world.clouds.calls)
    ids = {thing.id for thing in world.clouds.all()}
    await world.ready()
    await world.run(600)
    assert world.there() == before
    assert {thing.id for thing in world.clouds.all()} == ids
    assert {call.do for call in world.clouds.calls[calls:]} <= {"update"}
    assert [each["name"] for each in world.status["resources"]["ports"]] == ["web-0", "web-1"]
    world.delete(KIND, "web")
    await world.settle()
    await gone(world)


async def test_nothing_is_created_for_the_server_of_another_operator() -> None:
    world = await taken_over("ports", **WHOLE)
    (root,) = [thing for thing in world.clouds.all("volume") if thing.name == "web-root"]
    world.clouds.edit(root, name="other")
    calls = len(world.clouds.calls)
    await world.run(600)
    assert world.clouds.calls[calls:] == []
    reason, message = world.told()
    assert reason == "BlockedInstanceNotFound"
    assert message.startswith(f"status.instanceID is server {world.status['instanceID']}, which cannot be adopted: ")
    assert message.endswith("it has no volume web-root; correct that, or delete this object")


async def test_the_record_takes_precedence_over_marks() -> None:
    world = await made()
    recorded = world.status["instanceID"]
    made_at = world.one("server").facts[CREATED]
    world.clouds.edit(world.one("server"), mark="")
    twin = world.clouds.put("server", "web", **{CREATED: made_at})
    world.clouds.edit(twin, mark=mark(identity(world.get(), ""), SERVER_KEY))
    await world.run(120)
    assert [thing.id for thing in world.clouds.all("server")] == [recorded]
    assert [call.do for call in world.clouds.calls] == ["create", "create", "delete", "update"]
    assert world.one("server").mark, "it is set back"
    assert world.status["instanceID"] == recorded
    assert world.status["ready"]


# Credentials.


async def test_other_credentials_may_be_named_and_are_used_from_then_on() -> None:
    world = await made()
    calls, server = len(world.clouds.calls), world.one("server")
    world.clouds.locked = {"clouds"}
    await world.run(120)
    assert world.told()[0] == "CredentialsMissing"
    assert world.told("OpenStackAuthenticationSucceeded")[0] == "CredentialsMissing"
    world.change(identityRef={**IDENTITY, "name": "others"})
    await world.run(60)
    assert world.status["ready"], world.told()
    assert len(world.clouds.calls) == calls
    world.clouds.edit(server, name="theirs")
    await world.run(120)
    assert [call.cloud.secret[1] for call in world.clouds.calls[calls:]] == ["others"]


@pytest.mark.parametrize("way", ["they are back", "others are named"])
async def test_a_deletion_that_waits_for_credentials_continues_when_they_exist(way: str) -> None:
    world = await whole()
    world.clouds.locked = {"clouds"}
    world.delete(KIND, "web")
    await world.run(300)
    assert world.told()[0] == "CredentialsMissing"
    assert "credentialsLostPolicy to Detach" in world.told()[1]
    assert world.there() == ALL
    if way == "they are back":
        world.clouds.locked = set()
    else:
        world.change(identityRef={**IDENTITY, "name": "others"})
    await world.settle()
    await gone(world)


@pytest.mark.parametrize("cause", LOGIN)
async def test_the_policy_detach_keeps_existing_resources_and_reports_them(cause: Reason) -> None:
    world = await whole()
    refused = cause in (Reason.IDENTITY_ACCESS_DENIED, Reason.OTHER_PROJECT)
    error = (
        TerminalCloudError(cause, "no way", sure=True) if refused else TransientCloudError(cause, "no way", sure=True)
    )
    reason, world.clouds.fail["look"] = error.reason, error
    world.delete(KIND, "web")
    await world.run(60)
    assert world.told()[0] == reason
    world.change(credentialsLostPolicy="Detach")
    await world.run(60)
    assert not world.get()
    assert world.there() == ALL
    assert all(thing.id in left_behind(world) for thing in world.clouds.all() if thing.mark)


async def test_credentials_that_may_be_refused_by_mistake_leave_nothing_in_the_cloud() -> None:
    world = await whole()
    world.change(credentialsLostPolicy="Detach")
    world.clouds.fail["look"] = TransientCloudError("AuthenticationFailed", "one HTTP 401")
    world.delete(KIND, "web")
    await world.run(60)
    assert world.there() == ALL
    assert world.told()[0] == "AuthenticationFailed"
    world.clouds.fail.clear()
    await world.run(300)
    assert not world.get()
    assert world.there() == []


async def test_an_unresponsive_cloud_is_no_reason_to_detach() -> None:
    world = await whole()
    world.clouds.fail["look"] = TransientCloudError("Unreachable", "timed out")
    world.change(credentialsLostPolicy="Detach")
    world.delete(KIND, "web")
    await world.run(300)
    assert world.told() == (
        "Unreachable",
        "timed out; or set spec.credentialsLostPolicy to Orphan, which keeps the resources in the cloud",
    )
    world.change(credentialsLostPolicy="Orphan")
    await world.run(30)
    assert not world.get()
    assert world.there() == ALL


async def test_an_orphaned_server_sends_no_request() -> None:
    world = await whole()
    world.change(credentialsLostPolicy="Orphan")
    await world.run(30)
    asked = world.clouds.asked
    world.delete(KIND, "web")
    await world.settle()
    assert not world.get()
    assert (world.clouds.asked, world.there()) == (asked, ALL)
    assert world.clouds.all("server")[0].id in left_behind(world)


async def test_a_server_without_credentials_from_the_start_is_deleted_at_once() -> None:
    world = Servers()
    world.clouds.locked = {"clouds"}
    world.server()
    await world.run(60)
    assert world.told()[0] == "CredentialsMissing"
    world.delete(KIND, "web")
    await world.run(5)
    assert not world.get()
