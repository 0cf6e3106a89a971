"""Controllers through the real port to OpenStack, with lists that are outdated or lack a type."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from requests import Response

from stackwright.adapters.openstack.tenant.rest.rest_types import REST
from stackwright.adapters.openstack.transport import project_connection
from stackwright.adapters.openstack.transport.send import CloudState, request
from stackwright.api.infra.cluster.cluster import OpenStackCluster
from stackwright.cli.confirm import foreseen_losses
from stackwright.cli.manifests.load import Manifest
from stackwright.controllers.infra.clusterapi import CLAIM
from stackwright.core.openstack.errors import ListTooLong, Reason, TransientCloudError
from stackwright.core.openstack.resources import CREATED, CloudResource
from stackwright.forecast.losses import losses
from stackwright.forecast.plan import forecast
from stackwright.forecast.simulate import Outside, Request
from tests.scenario.capi_world import BASTION, IN_CLOUD, MANAGED, Clusters, asking
from tests.scenario.controllers.test_floatingippool import (
    test_a_deleted_pool_keeps_addresses_of_ports,
    test_an_address_attached_elsewhere_outlives_its_claim,
)
from tests.scenario.pool_world import POOLS, pools
from tests.scenario.real_port import ANSWER, NOVA, Connection, RealPort, real_port
from tests.scenario.server_world import ALL, KIND, VOLUMES, WHOLE, Servers, deleted_unheard, made
from tests.scenario.world import NAMESPACE, SETTINGS, World

__all__ = [
    "real_port",
    "test_a_deleted_pool_keeps_addresses_of_ports",
    "test_an_address_attached_elsewhere_outlives_its_claim",
]
pytestmark = [pytest.mark.looptime, pytest.mark.usefixtures("real_port")]
SLOW = 10.0  # seconds until a complete list of servers, if lists are slow
POLICIES = pytest.mark.parametrize("policy", ["Never", "Always"])


async def test_a_server_is_created_and_deleted() -> None:
    world = await made(**WHOLE)
    assert world.there() == ALL
    world.delete(KIND, "web")
    await world.settle()
    assert world.there() == []
    assert not world.get()


# Marked but unrecorded resources.


async def test_an_unrecorded_volume_is_deleted_with_its_server() -> None:
    for number in range(1, 6):
        world = await deleted_unheard(number)
        await world.run(120)
        assert (world.there(), world.get()) == ([], {}), number
        await world.stop()


async def test_an_ambiguous_volume_is_resolved_soon_after_a_user_removes_a_mark() -> None:
    world = await made(rootVolume={"sizeGiB": 10})
    await world.stop()
    world.cluster.put(KIND, {name: value for name, value in world.get().items() if name != "status"})
    root = world.one("volume")
    world.clouds.edit(root, answered=False)
    copy = replace(root, id="older", name="mine", facts={**root.facts, "answered": False, CREATED: 0.0})
    world.clouds.things["volume", "older"] = copy
    await world.run(120)
    assert world.told()[0] == "BlockedResourceAmbiguous"
    world.clouds.edit(copy, mark="")
    await world.run(300)
    assert world.status["ready"], world.told()


# Refusals.


@pytest.mark.parametrize("reason", ["ServerError", "Unreachable", "QuotaExceeded"])
async def test_a_repeated_rejection_is_retried_with_backoff_and_its_cause_is_reported(reason: str) -> None:
    world = Servers()
    world.clouds.fail["create server"] = TransientCloudError(Reason(reason), "no way")
    world.server()
    await world.run(300)
    calls, writes = len(world.clouds.calls), len(world.cluster.writes)
    for _ in range(20):
        await world.run(90)
        assert world.told() == (reason, "no way")
    assert 20 <= len(world.clouds.calls) - calls <= 40
    assert len(world.cluster.writes) == writes
    world.clouds.fail.clear()
    await world.run(120)
    assert world.status["ready"], world.told()


@pytest.mark.parametrize(("count", "creations"), [(1, 20), (10, 200)])
async def test_an_overloaded_nova_gets_few_whole_lists_and_creations(
    monkeypatch: pytest.MonkeyPatch, count: int, creations: int
) -> None:
    """Each creation ends in a 504, so a complete list must prove that the server does not exist."""
    world, lists = await refused(monkeypatch, count, "create server")
    calls, writes = len(world.clouds.calls), len(world.cluster.writes)
    for _ in range(300):
        await world.run(3)
        assert count > 1 or world.told() == ("ServerError", "504")
    assert lists.whole * SLOW <= 900 / 3
    assert count * 10 <= len(world.clouds.calls) - calls <= creations
    assert count > 1 or len(world.cluster.writes) == writes


@pytest.mark.parametrize(("seconds", "share"), [(15, 1 / 4), (60, 1 / 2)])
async def test_a_nova_that_fails_whole_lists_has_time_between_them(
    monkeypatch: pytest.MonkeyPatch, seconds: int, share: float
) -> None:
    world, lists = await refused(monkeypatch, 10, "create server")
    lists.takes, lists.error = seconds, TransientCloudError(Reason.SERVER_ERROR, "504")
    await world.run(1800)
    assert 1800 / 4 * share < lists.whole * seconds <= 1800 * share + seconds


async def test_refused_ports_cost_no_lists_of_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    world, lists = await refused(monkeypatch, 10, "create port")
    await world.run(300)
    assert lists.whole <= 2


class SlowLists:
    """Delays complete lists of servers, and counts them. They fail with `error`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.whole, self._fetch = 0, Connection.fetch
        self.takes: float = SLOW
        self.error: Exception | None = None
        monkeypatch.setattr(Connection, "fetch", lambda *args: self._noted(*args))
        monkeypatch.setattr(project_connection, "in_cloud_thread", self._slow)

    def _noted(self, connection: Connection, what: str, since: str = "") -> list[CloudResource]:
        self.whole += what == "server" and not since
        return self._fetch(connection, what, since)

    async def _slow(self, threads: Any, what: Callable[..., Any], *args: Any) -> Any:
        await asyncio.sleep(ANSWER)
        before = self.whole
        answer = what(*args)
        if self.whole > before:
            await asyncio.sleep(self.takes)
            if self.error:
                raise self.error
        return answer


async def refused(monkeypatch: pytest.MonkeyPatch, count: int, request: str) -> tuple[Servers, SlowLists]:
    """One server is ready, and these requests of `count` others have failed for two minutes."""
    world = Servers()
    world.server("first")
    await world.run(60)
    lists = SlowLists(monkeypatch)
    world.clouds.fail[request] = TransientCloudError(Reason.SERVER_ERROR, "504")
    for number in range(count):
        world.server(f"web{number or ''}")
    await world.run(120)
    lists.whole = 0
    return world, lists


# Changes by other clients since the last list.


@pytest.mark.parametrize("before", [5, 70])
async def test_an_address_that_a_user_attached_a_moment_ago_is_not_deleted_with_its_pool(before: int) -> None:
    world = await pools(reclaimPolicy="Delete")
    world.claim("a")
    await world.run(100)
    ip, theirs = world.one("floating-ip"), world.foreigner("port", "theirs")
    world.clouds.become(ip, "", port_id=theirs.id)
    await world.run(before)
    world.delete(CLAIM, "a")
    world.delete(POOLS, "p")
    await world.run(60)
    assert world.told_of()[0] == "InUse"
    assert world.one("floating-ip").facts["port_id"] == theirs.id


async def test_a_pool_without_claims_is_ready_at_once() -> None:
    world = await pools()
    assert world.told_of()[0] == "Ready"


async def create_another_without_response(world: Servers, seconds: float) -> None:
    """The response to the second creation of a server is lost, and it is not repeated within these seconds."""
    world.clouds.lose.add("create server")
    world.server()
    await world.run(seconds)
    assert [call.do for call in world.clouds.calls if call.resource_key[0] == "server"] == ["create", "create"]


@pytest.mark.parametrize("ahead", [-3600.0, 3600.0])
async def test_a_clock_that_differs_from_novas_causes_no_duplicate_and_no_delay(
    real_port: RealPort, ahead: float
) -> None:
    """The server is created by a request without a response, and appears in a list of changes."""
    real_port.clock.ahead = ahead
    world = Servers()
    world.server("first")
    await world.run(30)
    await create_another_without_response(world, 30)
    assert world.status["ready"], world.told()


@pytest.mark.parametrize("ahead", [14.0, 60.0, 3600.0])
@pytest.mark.parametrize("issued", [NOVA, None], ids=["token", "no token"])
async def test_a_gateway_whose_clock_is_ahead_makes_no_server_twice(
    real_port: RealPort, issued: float | None, ahead: float
) -> None:
    """The gateway writes the header Date in place of Nova, so lists of changes may begin too late."""
    real_port.state = CloudState({"compute": NOVA + ahead}, issued)
    world = Servers()
    world.server("first")
    await world.run(60)
    await create_another_without_response(world, 120)
    assert world.get()["status"]["ready"], world.told()


async def test_a_slow_whole_list_makes_no_server_twice(real_port: RealPort, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the complete list contains the server of the request without a response."""
    real_port.state = CloudState({"compute": NOVA + 3600}, None)
    world = Servers()
    world.server("first")
    await world.run(60)
    SlowLists(monkeypatch)
    await create_another_without_response(world, 120)
    assert world.get()["status"]["ready"], world.told()


@pytest.mark.parametrize("ahead", [30.0, 600.0])
async def test_a_server_that_changed_in_the_future_makes_no_server_twice(real_port: RealPort, ahead: float) -> None:
    """The clock of one of Nova's conductors was ahead, and is correct again."""
    world = Servers()
    world.server("first")
    await world.run(60)
    real_port.connection.changed_at(world.one("server").id, ahead)
    await create_another_without_response(world, 120)
    assert world.get()["status"]["ready"], world.told()


@pytest.mark.parametrize("most", [1000, 250], ids=["few", "too many"])
async def test_servers_that_were_deleted_long_ago_are_not_listed_again_and_again(
    real_port: RealPort, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Nova lists deleted servers for months; a project with an old server and many tests has very many of them."""
    world = await made()
    await world.run(300)
    real_port.connection.deleted(300)
    listed = counted(monkeypatch, most)
    for _ in range(20):
        await world.run(60)
        assert world.told()[0] == "Ready"
    assert [count for count in listed if count > 1] == [300], "each of them once"
    world.clouds.become(world.one("server"), "SHUTOFF")
    await world.run(120)
    assert world.told()[0] != "Ready"


def counted(monkeypatch: pytest.MonkeyPatch, most: int) -> list[int]:
    """Record the length of each list of servers; a list of more than `most` is refused."""
    counts: list[int] = []
    fetch = Connection.fetch

    def noted(self: Connection, what: str, since: str = "") -> list[CloudResource]:
        found = fetch(self, what, since)
        if what == "server":
            counts.append(len(found))
            if len(found) > most:
                raise ListTooLong(Reason.UNREACHABLE, f"the list of servers exceeds the limit of {most} items")
        return found

    monkeypatch.setattr(Connection, "fetch", noted)
    return counts


# A gateway that removes request ids.


@pytest.mark.parametrize("how", ["form of OpenStack", "form of the gateway"])
async def test_behind_a_gateway_that_takes_request_ids_away_servers_are_made_and_go(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The cloud has no trunks, and each 404 is without a request id."""
    answers_without_ids(monkeypatch, {"NeutronError": {"message": "x"}} if how == "form of OpenStack" else "not found")
    world = Servers()
    world.server(rootVolume={"sizeGiB": 1})
    await world.run(120)
    assert world.told()[0] == "Ready"
    world.delete(KIND, "web")
    await world.run(300)
    assert (world.there(), world.get()) == ([], {})


def answers_without_ids(monkeypatch: pytest.MonkeyPatch, body: Any) -> None:
    """Each list and each 404 is an HTTP response without a request id."""
    fetch, single = Connection.fetch, Connection.single

    def listed(self: Connection, what: str, since: str = "") -> list[CloudResource]:
        send(self, what, 404 if what == "trunk" else 200, body)
        return fetch(self, what, since)

    def one(self: Connection, what: str, id_: str) -> CloudResource | None:
        found = single(self, what, id_)
        try:
            send(self, what, 200 if found else 404, body)
        except TransientCloudError as error:
            if error.cause is not Reason.NOT_FOUND:
                raise
        return found

    monkeypatch.setattr(Connection, "fetch", listed)
    monkeypatch.setattr(Connection, "single", one)


def send(connection: Connection, what: str, status: int, body: Any) -> None:
    """Send a request of the adapter, which gets this response."""
    response = Response()
    response.status_code, response._content = status, json.dumps(body).encode()
    response.headers["Content-Type"] = "application/json"
    service = REST[what].service
    proxy = SimpleNamespace(request=lambda *_, **__: response)
    setattr(connection, service, proxy)
    request(connection, service, "GET", "/")  # type: ignore[arg-type]


# Forecasts of `plan` and `apply`: a new process, which changes nothing.


async def foreseen(world: World, real_port: RealPort) -> tuple[list[str], list[str], dict[str, str]]:
    """The steps of the forecast, its losses, and the objects that would not become ready."""
    outside = Outside(None, real_port.to(world.clouds))
    found, stuck = await forecast(world.cluster, SETTINGS, Request(NAMESPACE), world.clock.now(), outside)
    return [f"{each.does} {each.what}" for each in found], losses(found), stuck


@POLICIES
async def test_for_a_server_that_is_well_nothing_is_planned(real_port: RealPort, policy: str) -> None:
    world = await made(**VOLUMES, recreatePolicy=policy)
    assert await foreseen(world, real_port) == ([], [], {})


@POLICIES
async def test_for_a_cluster_that_is_well_nothing_is_planned(real_port: RealPort, policy: str) -> None:
    world = Clusters()
    world.make(recreatePolicy=policy)
    await world.ready()
    assert await foreseen(world, real_port) == ([], [], {})


async def test_the_recreation_of_deleted_resources_is_planned(real_port: RealPort) -> None:
    world = await made(**VOLUMES)
    world.clouds.remove("port", world.one("port").id)
    _, lost, stuck = await foreseen(world, real_port)
    assert lost == []
    assert "Another client deleted port web-0;" in str(stuck)
    world.change(recreatePolicy="Always")
    _, lost, stuck = await foreseen(world, real_port)
    assert len(lost) == 3, "the server, and its two volumes"
    assert not stuck


async def test_a_bastion_and_its_address_are_lost_where_it_is_switched_off(
    real_port: RealPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Clusters()
    world.make(bastion=BASTION)
    await world.ready()
    asking(monkeypatch, real_port.to(world.clouds))
    spec = {**MANAGED, "bastion": {"enabled": False}}
    without = Manifest(OpenStackCluster.KIND, {"metadata": {"name": "c", "namespace": NAMESPACE}, "spec": spec})
    ip = next(t.id for t in world.clouds.all("floating-ip") if t.mark and t.facts.get("port_id"))
    assert await foreseen_losses(world.cluster, [without]) == [
        "OpenStackServer openstack/c-bastion",
        f"server {world.one('server').id} {IN_CLOUD}",
        f"floating-ip bastion {ip} {IN_CLOUD}",
    ]


async def test_a_plan_waits_once_for_all_that_may_be_gone(real_port: RealPort) -> None:
    """A second request confirms the absence of each resource; one after the other, 200 machines took 15 minutes."""
    world = Servers()
    for number in range(10):
        world.server(f"web{number}", rootVolume={"sizeGiB": 1})
    await world.run(400)
    await world.stop()
    for what in ("server", "port", "volume"):
        for thing in world.clouds.all(what):
            world.clouds.remove(what, thing.id)
    loop = asyncio.get_running_loop()
    began = loop.time()
    _, _, stuck = await foreseen(world, real_port)
    assert all(f"web{number}" in str(stuck) for number in range(10))
    assert loop.time() - began < 10


# An outage of a service that an object does not use.


def outage(monkeypatch: pytest.MonkeyPatch, *types: str) -> Callable[[], None]:
    """Lists of these types get 503 until the returned function is called."""
    fetch, failing = Connection.fetch, set(types)

    def answer(connection: Connection, what: str, since: str = "") -> list[CloudResource]:
        if what in failing:
            raise TransientCloudError(Reason.SERVER_ERROR, f"HTTP 503: list of {what}s")
        return fetch(connection, what, since)

    monkeypatch.setattr(Connection, "fetch", answer)
    return failing.clear


async def test_an_outage_of_cinder_does_not_affect_servers_without_volumes(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await made()
    outage(monkeypatch, "volume", "trunk")
    await world.run(400)
    assert world.told()[0] == "Ready"
    world.server("other")
    await world.run(60)
    assert world.get("other")["status"]["ready"]
    world.delete(KIND, "web")
    await world.run(60)
    assert world.there() == ["port other-0", "server other"]
    assert not world.get()


@pytest.mark.parametrize("recorded", [True, False], ids=["record", "marks"])
@pytest.mark.parametrize("what", ["volume", "trunk"])
async def test_an_outage_of_cinder_delays_the_deletion_of_a_server_that_may_have_volumes(
    monkeypatch: pytest.MonkeyPatch, what: str, recorded: bool
) -> None:
    world = await made(**WHOLE)
    await world.stop()
    if not recorded:
        world.cluster.put(KIND, {name: value for name, value in world.get().items() if name != "status"})
    world = world.again()
    end = outage(monkeypatch, what)
    world.delete(KIND, "web")
    await world.run(300)
    assert world.get()
    assert world.told()[0] == "ServerError"
    end()
    await world.settle()
    assert world.there() == []
    assert not world.get()
