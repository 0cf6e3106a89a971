"""A slow cloud, malicious or not, holds no worker longer than permitted, and its responses are kept."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from stackwright.adapters import threads
from stackwright.adapters.openstack.tenant import changes as tenant_changes
from stackwright.adapters.openstack.tenant import clouds as tenant_clouds
from stackwright.adapters.openstack.tenant import lists as tenant_lists
from stackwright.adapters.openstack.tenant import project_session
from stackwright.adapters.openstack.tenant.clouds import OpenStackClouds
from stackwright.adapters.openstack.tenant.rest.requests import run
from stackwright.adapters.openstack.tenant.rest.rules import INTERFACES
from stackwright.adapters.openstack.transport import login, project_connection, responses, single_flight
from stackwright.adapters.openstack.transport.login import Login
from stackwright.adapters.openstack.transport.project_connection import GRACE, ProjectConnection
from stackwright.api.infra.server import OpenStackServer
from stackwright.api.kinds import NAMESPACE
from stackwright.controllers.catalog import controllers
from stackwright.controllers.infra.origin import ORIGIN
from stackwright.controllers.server import controller as server_controller
from stackwright.core.objects import FINALIZER
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import CALL_SECONDS, LATE
from stackwright.core.openstack.errors import TransientCloudError
from stackwright.core.openstack.resources import CloudRef, CloudResource, ProjectView
from stackwright.core.settings import Settings
from stackwright.runtime import reconcile
from stackwright.runtime.cluster.cache import CachedReader, Store, WriteThrough
from stackwright.runtime.health import Health
from stackwright.runtime.memory import FrozenClock, MemoryCluster
from stackwright.runtime.queue import KeyedQueue
from stackwright.runtime.reconcile import Runtime
from support.infra_specs import ID
from support.ports import memory_ports
from support.server_objects import GOOD, obj

# openstacksdk warns about its optional imports.
pytestmark = pytest.mark.filterwarnings("ignore:Support for InfluxDB")
SIMULATED = pytest.mark.looptime(noop_cycles=3)  # nothing here is done in a thread
RESPONSE = 20.0  # seconds on the clock of Neutron
SLOW = 55.0  # seconds of a response that arrives just in time
RECORD = {
    "instanceID": "s",
    "resources": {f"{what}s": [{"name": f"{n}", "id": f"{what}-{n}"} for n in range(64)] for what in ("port", "trunk")},
}
REMOTE = [each for each in controllers(Settings({}, {}), clouds=Mock()) if each.remote]


def now() -> float:
    return asyncio.get_running_loop().time()


class Objects:
    """A reader with one object of a kind."""

    def __init__(self, one: Any) -> None:
        self._one = one

    async def get(self, kind: Any, key: Any) -> Any:
        if kind == NAMESPACE:
            return {"metadata": {"name": key[1], "uid": "u"}}
        return self._one if kind.kind == self._one["kind"] else None

    async def list(self, kind: Any, namespace: str = "", labels: Any = None) -> list[Any]:
        return []


async def looked(subscribe: Callable[..., Any], find: Callable[..., Any], name: str, **spec: Any) -> Any:
    """What its controller sees where the port itself answers so."""
    clouds = OpenStackClouds(AsyncMock(), lambda *_: None)
    clouds.subscribe, clouds.view, clouds.find = subscribe, lambda _: ProjectView(), find  # type: ignore[method-assign]
    (declared,) = [each for each in controllers(Settings({}, {}), clouds=clouds) if each.name == name]
    made = obj(declared.kind.kind, **({"spec": spec} if spec else {}))
    made["metadata"]["uid"] = "u"
    return await declared.observe(Objects(made), ("b", "a"), 0.0)


@SIMULATED
@pytest.mark.parametrize("name", [each.name for each in REMOTE])
async def test_a_look_at_an_unresponsive_cloud_times_out_and_reports_it(name: str) -> None:
    seen = await looked(lambda *_: asyncio.sleep(1e6), lambda *_: asyncio.sleep(1e6), name)
    assert now() == CALL_SECONDS
    assert (seen.failure.reason, seen.failure.message) == ("Unreachable", LATE)


@SIMULATED
async def test_a_look_times_out_even_if_each_of_its_many_queries_is_fast_enough() -> None:
    async def find(*_: Any) -> tuple[CloudResource, ...]:
        await asyncio.sleep(25.0)
        return (CloudResource("network", ID),)

    ports = [{"network": {"filter": {"name": f"n{n}"}}} for n in range(64)]
    groups = [{"filter": {"name": f"g{n}"}} for n in range(64)]
    ports = [{**port, "securityGroups": [group]} for port, group in zip(ports, groups, strict=True)]
    seen = await looked(AsyncMock(), find, "server", **{**GOOD["OpenStackServer"], "ports": ports})
    assert now() <= CALL_SECONDS
    assert seen.failure.message == LATE


async def at_once(_: Any, call: Callable[[], Any]) -> Any:
    return call()


class Cloud:
    """Requests of threads in simulated time: each request takes SLOW, an action `takes`; `there` are the resources."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.there: set[tuple[str, str]] = set()
        self.requests, self.takes, self._for = 0, SLOW, 0.0
        clock = Mock(monotonic=lambda: now() + 100_000, time=lambda: now() + 100_000, perf_counter=now)
        parts = (tenant_changes, tenant_clouds, tenant_lists, single_flight, project_connection, login, project_session)
        for module in (*parts, reconcile):
            monkeypatch.setattr(module, "time", clock)
        monkeypatch.setattr(project_connection, "connection", lambda *_: Mock(current_project_id="p"))
        monkeypatch.setattr(project_connection, "in_cloud_thread", self._in_thread_of)
        monkeypatch.setattr(login, "in_cloud_thread", at_once)
        monkeypatch.setattr(tenant_lists, "fetch", lambda *_: [])
        monkeypatch.setattr(tenant_lists, "peek", lambda *_: [])
        monkeypatch.setattr(tenant_lists, "single", self._single)
        monkeypatch.setattr(tenant_changes, "run", self._run)

    def _single(self, connection: Any, what: str, id_: str) -> CloudResource | None:
        self.requests, self._for = self.requests + 1, SLOW
        return CloudResource(what, id_, state="ACTIVE") if (what, id_) in self.there else None

    def _run(self, connection: Any, call: CloudCall, user_data: Any) -> Any:
        self.requests, self._for = self.requests + 1, self.takes
        return call.id or "id", {}

    async def _in_thread_of(self, threads: Any, what: Callable[[], Any]) -> Any:
        self._for = 0.0
        answer = what()
        await asyncio.sleep(self._for)
        return answer


class World:
    """The operator over an API in memory and a slow cloud; one server with many things, which is being deleted."""

    def __init__(self, _: Cloud) -> None:
        self.cluster, store, clock = MemoryCluster(clock=FrozenClock()), Store(), FrozenClock()
        text = "clouds: {openstack: {auth: {auth_url: https://keystone/v3, password: pw-x}}}"
        secret = {"data": {"clouds.yaml": b64encode(text.encode()).decode()}}

        async def secrets(_: Any) -> Any:
            return secret

        clouds = OpenStackClouds(secrets, lambda name, key: self.runtime.queue.add((name, key)))
        ports = memory_ports(self.cluster, clock, cluster=WriteThrough(store, self.cluster), clouds=clouds)
        reader = CachedReader(store, self.cluster)
        self.runtime = Runtime([server_controller(clouds)], ports, reader, store, KeyedQueue())
        self.cluster.subscribe(
            lambda event, kind, each: (
                self.runtime.on_event(event == "DELETED", kind, each) if kind in self.runtime.kinds else None
            )
        )
        self.health = Health(self.runtime, Mock(silent=dict))

    async def make(self) -> None:
        made = obj("OpenStackServer", GOOD["OpenStackServer"], status={**RECORD, "project": "p"})
        made["metadata"] |= {"finalizers": [FINALIZER], "annotations": {ORIGIN: "o"}}
        self.cluster.put(OpenStackServer.KIND, made)
        await self.cluster.delete(OpenStackServer.KIND, ("b", "a"))

    @property
    def there(self) -> bool:
        return self.cluster.peek(OpenStackServer.KIND, ("b", "a")) is not None

    async def run(self, hours: float) -> list[str]:
        """The responses of /healthz in the meantime; ends with the server."""
        causes: list[str] = []
        await self.runtime.load()
        task = asyncio.create_task(self.runtime.run(workers=1))
        for _ in range(int(hours * 360)):
            await asyncio.sleep(10)
            assert not task.done()
            causes += await self.health.causes()
            if not self.there:
                break
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return causes


@SIMULATED
async def test_a_slow_cloud_that_lost_everything_is_believed_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """129 ids need two requests each: one look took so long that the operator counted as dead."""
    cloud = Cloud(monkeypatch)
    world = World(cloud)
    await world.make()
    assert await world.run(hours=4) == []
    assert not world.there
    assert cloud.requests < 2.5 * 129, "hardly any answer was for nothing"


@SIMULATED
async def test_a_hostile_cloud_never_has_the_operator_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resources that its lists lack exist on request, and their deletion takes very long."""
    cloud = Cloud(monkeypatch)
    cloud.there = {(what, f"{what}-{n}") for what in ("port", "trunk") for n in range(64)} | {("server", "s")}
    cloud.takes = 1e6
    world = World(cloud)
    await world.make()
    assert await world.run(hours=2) == []
    assert cloud.requests > 50
    assert world.there


@SIMULATED
async def test_a_hanging_worker_is_still_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(Cloud(monkeypatch))
    await world.make()
    world.runtime.reader.get = lambda *_: asyncio.sleep(1e6)  # type: ignore[method-assign, assignment]
    causes = await world.run(hours=0.5)
    assert causes and "a worker has been processing server b/a" in causes[0]


@SIMULATED
async def test_a_queued_request_to_a_slow_cloud_times_out_too(monkeypatch: pytest.MonkeyPatch) -> None:
    Cloud(monkeypatch)
    project = ProjectConnection(Login("d", {"auth": {}}, ""))
    monkeypatch.setattr(project_connection, "in_cloud_thread", lambda *_: asyncio.sleep(1e6))
    ended = await asyncio.gather(*(project.do("compute", lambda _: "") for _ in range(20)), return_exceptions=True)
    assert {str(each) for each in ended} == {LATE}
    assert now() == CALL_SECONDS + GRACE
    project.close()


class Neutron:
    """Over HTTP, with a router that has `ports`; a response may take long, or redirect to itself for ever.

    clock  seconds; each response adds RESPONSE
    """

    def __init__(self) -> None:
        self.ports = [f"p{n}" for n in range(40)]
        self.asked: list[tuple[str, str]] = []
        self.takes, self.turns = 0.0, False
        self.clock, self.gone = 0.0, threading.Event()
        neutron = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                neutron.asked.append((self.command, self.path))
                said = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
                neutron.clock += RESPONSE
                neutron.gone.wait(neutron.takes)
                if self.command == "PUT":
                    neutron.ports.remove(said["port_id"])
                found = [{"id": id_, "device_owner": INTERFACES[0]} for id_ in neutron.ports]
                body = json.dumps({"ports": found}).encode()
                self.send_response(307 if neutron.turns else 200)
                self.send_header("Location", neutron.at + self.path)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_PUT = do_DELETE = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.at = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.gone.set()
        self._server.shutdown()
        self._server.server_close()

    async def leave(self, project: ProjectConnection) -> Any:
        """The router is deleted."""
        call = CloudCall(CloudRef(("n", "s"), "c"), "delete", ("router", "cluster"), "u", id="r")

        def what(made: Any) -> Any:
            def request(path: str, method: str, **more: Any) -> Any:
                return made.session.request(self.at + path, method, authenticated=False, raise_exc=False, **more)

            return run(Mock(network=Mock(request=request)), call, None)

        return await project.do("network", what)


@pytest.fixture
def neutron() -> Iterator[Neutron]:
    made = Neutron()
    yield made
    made.close()


@pytest.fixture
def project(neutron: Neutron, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProjectConnection]:
    monkeypatch.setattr(project_connection, "CALL_SECONDS", 1.0)
    monkeypatch.setattr(project_connection, "project_of", lambda _: "p")
    auth = {"auth_url": f"{neutron.at}/v3", "username": "u", "password": "pw-x", "project_name": "p"}
    made = ProjectConnection(Login("d", {"auth": {**auth, "user_domain_name": "d", "project_domain_name": "d"}}, ""))
    yield made
    made.close()


async def test_an_action_of_very_many_requests_times_out_and_continues_next_time(
    neutron: Neutron, project: ProjectConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cloud determines how many interfaces a router has: 1000 interfaces were 1000 requests of one action."""
    await warm(neutron, project)
    monkeypatch.setattr(project_connection, "CALL_SECONDS", 5 * RESPONSE)
    for module in (threads, project_connection, responses):
        monkeypatch.setattr(module, "time", Mock(monotonic=lambda: neutron.clock))
    left, attempts = [len(neutron.ports)], 0
    for _ in range(40):
        attempts += 1
        began = neutron.clock
        try:
            await neutron.leave(project)
            break
        except TransientCloudError as error:
            assert error.reason == "Unreachable"
        assert neutron.clock == began + 5 * RESPONSE
        left.append(len(neutron.ports))
        asked = len(neutron.asked)
        await asyncio.sleep(0.2)
        assert len(neutron.asked) == asked, "the thread does not go on"
    assert left == list(range(40, -1, -4)), "each attempt brings it further"
    assert attempts > 1
    assert not neutron.ports
    assert neutron.asked[-1] == ("DELETE", "/routers/r")


@pytest.mark.parametrize("takes", [0.1, 60.0])
async def test_neither_redirects_nor_a_slow_response_extend_the_timeout(
    neutron: Neutron, project: ProjectConnection, takes: float
) -> None:
    await warm(neutron, project)
    neutron.turns, neutron.takes = True, takes
    began = time.monotonic()
    with pytest.raises(TransientCloudError):
        await neutron.leave(project)
    assert time.monotonic() - began < 50
    assert len(neutron.asked) <= 10


async def warm(neutron: Neutron, project: ProjectConnection) -> None:
    """The first connection imports libraries."""
    await project.do("compute", lambda made: made.session, queues=False)
