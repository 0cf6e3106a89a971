"""What answers in place of Keystone, Glance or Nova to the administrator may be any program."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from stackwright.adapters import threads
from stackwright.adapters.openstack.deployed import agents, inventory, moves
from stackwright.adapters.openstack.deployed.agents import CloudAgents
from stackwright.adapters.openstack.deployed.inventory import CloudContents, gathered
from stackwright.adapters.openstack.deployed.keystone import KeystoneIdentity
from stackwright.core.errors import TransientError
from stackwright.core.openstack.clouds import CALL_SECONDS
from stackwright.core.plan import DeleteAgents, Inventory
from stackwright.core.plan.accounts import EnsureIdentityAccount

pytestmark = pytest.mark.filterwarnings("ignore")  # of the SDK, about itself
SPEC: dict[str, Any] = {
    "serviceName": "glance", "serviceType": "image", "description": "Images", "region": "RegionOne",
    "endpoints": {"internal": "http://i"}, "username": "glance", "roles": ["admin"],
}  # fmt: skip
ACTION = EnsureIdentityAccount(
    admin_secret=("openstack", "keystone-admin"), spec=SPEC, secret=("openstack", "glance-ks")
)
Answer = Callable[[str], Any]


class Cloud:
    """Keystone and all other services at one address; `answer` returns the body for a path."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[str] = []
        cloud = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                cloud.asked.append(self.path)
                self._send(200, {"stores": []} if self.path.endswith("/info/stores") else answer(self.path))

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                names = ("identity", "image", "compute", "network", "block-storage")
                endpoint = {"interface": "internal", "region": "RegionOne", "region_id": "RegionOne", "id": "e"}
                catalog = [
                    {
                        "type": name,
                        "name": name,
                        "id": name,
                        "endpoints": [endpoint | {"url": f"{cloud.url}/{name}/v2"}],
                    }
                    for name in names
                ]
                token = {"expires_at": "2099-01-01T00:00:00Z", "catalog": catalog, "methods": ["password"], "user": {}}
                self._send(201, {"token": token})

            do_PATCH = do_PUT = do_DELETE = do_POST

            def _send(self, status: int, body: Any) -> None:
                text = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("X-Subject-Token", "t")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.admin = {
            "username": "admin", "password": "pw-x", "auth_url": f"{self.url}/v3", "project_name": "admin",
            "user_domain_name": "Default", "project_domain_name": "Default",
        }  # fmt: skip


@pytest.fixture
def started() -> Iterator[Callable[[Answer], Cloud]]:
    made: list[Cloud] = []

    def start(answer: Answer) -> Cloud:
        made.append(Cloud(answer))
        return made[-1]

    yield start
    for each in made:
        each.server.shutdown()
        each.server.server_close()


Start = Callable[[Answer], Cloud]
SHAPES = [[], ["users"], None, 1, "text", {"users": {"id": 1}}, {"users": [1]}, {"users": [["id"]]}, {"users": 5}]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
async def test_json_of_another_shape_from_keystone_is_a_transient_error(started: Start, shape: Any) -> None:
    cloud = started(lambda path: shape)
    with pytest.raises(TransientError, match=f"^Keystone at {cloud.url}/v3"):
        await KeystoneIdentity().account(ACTION, cloud.admin, {"password": "pw"})


def look(service: str, *holders: str) -> Inventory:
    return Inventory(("openstack", "inventory"), {}, service, holders, ("openstack", "keystone-admin"))


@pytest.mark.parametrize("shape", [["images"], {"images": [1]}, {"images": 5}], ids=str)
async def test_json_of_another_shape_is_no_inventory(started: Start, shape: Any) -> None:
    cloud = started(lambda path: shape)
    with pytest.raises(TransientError, match=r"^Waiting for image to list its content: "):
        await CloudContents().held(look("image", "rbd"), cloud.admin)


@pytest.mark.parametrize("service", ["image", "compute"])
async def test_a_huge_response_is_no_inventory(started: Start, service: str) -> None:
    huge = b'{"images": [], "services": [], "more": "' + b"a" * (5 << 20) + b'"}'
    cloud = started(lambda path: huge)
    name = "nova-compute@node1"
    with pytest.raises(TransientError, match="a response exceeds the limit of 4 MiB"):
        await CloudContents().held(look(service, name), cloud.admin)
    if service == "compute":
        found = await CloudAgents().forget(DeleteAgents(look(service, name), (name,)), cloud.admin)
        assert "a response exceeds the limit of 4 MiB" in found[name]


def pages(cloud: list[Cloud], size: int) -> Answer:
    """A list of images without end, in pages, each with a name of this size."""

    def answer(path: str) -> Any:
        number = len(cloud[0].asked)
        image = {"id": f"i{number}", "name": "n" * size, "stores": "rbd"}
        return {"images": [image], "next": f"/v2/images?marker=i{number}"}

    return answer


async def test_an_inventory_has_one_deadline(started: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each response comes in time: ten seconds by the clock that the server is."""
    made: list[Cloud] = []
    made.append(started(pages(made, 1)))

    class Clock:
        monotonic = staticmethod(lambda: len(made[0].asked) * 10.0)

    monkeypatch.setattr(threads, "time", Clock)
    with pytest.raises(TransientError, match=r"^Waiting for image to list its content: "):
        await CloudContents().held(look("image", "rbd"), made[0].admin)
    assert len(made[0].asked) * 10 == CALL_SECONDS


@pytest.mark.parametrize("limited", ["RECEIVED", "NAMES"])
async def test_endless_inventories_are_aborted(started: Start, monkeypatch: pytest.MonkeyPatch, limited: str) -> None:
    made: list[Cloud] = []
    made.append(started(pages(made, 1000)))
    monkeypatch.setattr(inventory, limited, 5_000)
    with pytest.raises(TransientError, match="exceed"):
        await CloudContents().held(look("image", "rbd"), made[0].admin)
    assert len(made[0].asked) < 20


def neutron(routers: int, wide: int = 0) -> Answer:
    """Neutron with routers that no agent hosts and two L3 agents, of which that of node1 is down. `wide`: characters of
    the description of a router, unless `fields` omits it.
    """
    known = [
        {"id": f"a{up:d}", "binary": "neutron-l3-agent", "host": f"node{up + 1}", "alive": up, "admin_state_up": up}
        for up in (False, True)
    ]

    def answer(path: str) -> Any:
        url = urlsplit(path)
        query = parse_qs(url.query)
        if url.path.endswith("/agents"):
            return {"agents": known}
        if not url.path.endswith("/routers"):
            return {"routers": []}
        first = int(query.get("marker", ["-1"])[0]) + 1
        last = first + int(query.get("limit", ["5000"])[0])
        text = {} if "fields" in query else {"description": "d" * wide}
        found = [{"id": f"{n}", "name": "r", "ha": False, **text} for n in range(first, min(last, routers))]
        return {"routers": found}

    return answer


async def forgotten(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> str:
    """The error of the deletion of the agent of node1."""
    monkeypatch.setattr(agents, "CONFIRM", 0.0)
    name = "neutron-l3-agent@node1"
    errors = await CloudAgents().forget(DeleteAgents(look("networking", name), (name,)), cloud.admin)
    return errors[name]


async def test_the_routers_of_a_large_cloud_are_listed_in_pages(
    started: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = started(neutron(1100, 5000))
    assert await forgotten(cloud, monkeypatch) == "networking still lists it"
    listed = [path for path in cloud.asked if "/routers?" in path]
    assert ["limit=500" in path and "fields=id" in path for path in listed] == [
        True
    ] * 8  # before the move, and before the deletion


async def test_endless_routers_without_an_agent_are_not_kept_in_memory(
    started: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "UNHOSTED", 700)
    cloud = started(neutron(1 << 40))
    assert await forgotten(cloud, monkeypatch) == "more than 700 routers have no agent"
    assert len([path for path in cloud.asked if "/routers?" in path]) == 2


async def test_each_adapter_has_its_own_threads() -> None:
    """So that inventories delay no account."""
    found = [KeystoneIdentity()._workers, CloudContents()._workers, CloudAgents()._workers]
    assert len({id(each) for each in found}) == 3


def test_names_are_sorted() -> None:
    assert gathered(["rbd"], [("rbd", "b"), ("rbd", "a"), ("other", "c")]) == {"rbd": ["a", "b"]}
