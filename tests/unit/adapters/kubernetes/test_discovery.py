"""Which 404 proves that the API server does not serve a kind, over real connections."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackwright.adapters.kubernetes import discovery as module
from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.meta import Kind
from stackwright.core.errors import NotServed, TransientError, Unavailable
from tests.unit.adapters.kubernetes.local_api import Handler, serving

OLD, NEW = (Kind("x.example", version, "Thing", "things") for version in ("v1", "v2"))
NODE = Kind("", "v1", "Node", "nodes", namespaced=False)
THINGS = "apis/x.example/v1/things"
KEY = ("n", "a")
CONFIRM = 0.05
WRONG = (404, b"404 page not found\n")


def discovery(*versions: str, **resources: str) -> dict[str, Any]:
    """The responses of an API server with these versions of Thing's group, and with the resources of `apis/…`."""
    groups = [{"name": "apps", "versions": [{"version": "v1"}]}]
    groups += [{"name": "x.example", "versions": [{"version": each} for each in versions]}] if versions else []
    lists = {
        f"apis/x.example/{version}": {"kind": "APIResourceList", "resources": [{"name": name}]}
        for version, name in resources.items()
    }
    core = {"kind": "APIResourceList", "resources": [{"name": "pods"}]}
    return {"apis": {"kind": "APIGroupList", "groups": groups}, "api/v1": core, **lists}


class Server:
    """Path → responses, the last of which repeats; each one an object, or a code and a text. Others are WRONG."""

    path: Path

    def __init__(self) -> None:
        self.responses: dict[str, list[Any]] = {}
        self.asked: list[str] = []
        server = self

        class Responder(Handler):
            def do_GET(self) -> None:
                path, _, _ = self.path.strip("/").partition("?")
                server.asked.append(path)
                found = server.responses.get(path) or [WRONG]
                response = found[0] if len(found) == 1 else found.pop(0)
                code, text = response if isinstance(response, tuple) else (200, json.dumps(response).encode())
                self.reply(code, text)

        self.handler = Responder

    def serve(self, *pages: dict[str, Any]) -> None:
        """The responses of the pages, one after the other; the last one repeats."""
        self.responses |= {path: [page[path] for page in pages if path in page] for page in pages for path in page}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server()
    with serving(made.handler, tmp_path) as made.path:
        yield made


@pytest.fixture
async def cluster(server: Server) -> Any:
    made = KubernetesCluster.from_file(str(server.path), confirm=CONFIRM)
    yield made
    await made.close()


async def prove_anew(server: Server, cluster: KubernetesCluster) -> None:
    """A response that the kind is served ends the proof of the contrary; then the kind is removed again."""
    server.serve(discovery("v1", v1="things"))
    with pytest.raises(Unavailable):
        await cluster.list(OLD)
    server.serve(discovery())
    with pytest.raises(NotServed):
        await cluster.list(OLD)


async def test_a_404_for_a_kind_that_the_api_serves_proves_nothing(server: Server, cluster: KubernetesCluster) -> None:
    server.serve(discovery("v1", v1="things"))
    with pytest.raises(Unavailable, match="returned 404, although it serves this kind"):
        await cluster.list(OLD)
    with pytest.raises(Unavailable):
        await cluster.get(OLD, KEY)
    server.serve({THINGS: {"kind": "ThingList", "apiVersion": "x.example/v1", "items": []}})
    assert await cluster.list(OLD) == []


@pytest.mark.parametrize("pages", [discovery(), discovery("v2"), discovery("v1", v1="others")])
async def test_two_discoveries_without_the_kind_prove_its_absence(
    server: Server, cluster: KubernetesCluster, pages: dict[str, Any]
) -> None:
    server.serve(pages)
    with pytest.raises(NotServed):
        await cluster.list(OLD)
    assert server.asked.count("apis") == 2
    with pytest.raises(NotServed):
        await cluster.list(OLD)
    assert server.asked.count("apis") == 2, "it is proven"
    with pytest.raises(NotServed):
        await cluster.get(NODE, ("", "a"))
    assert server.asked.count("api/v1") == 2, "the core group has no entry among the groups"


async def test_one_discovery_without_the_kind_proves_nothing(server: Server, cluster: KubernetesCluster) -> None:
    server.serve(discovery(), discovery("v1", v1="things"))
    with pytest.raises(Unavailable):
        await cluster.list(OLD)


async def test_a_kind_that_was_served_since_is_verified_again(server: Server, cluster: KubernetesCluster) -> None:
    server.serve(discovery("v2", v2="things"))
    server.responses["apis/x.example/v2/things"] = [{"kind": "ThingList", "apiVersion": "x.example/v2", "items": []}]
    with pytest.raises(NotServed):
        await cluster.list(OLD)
    assert await cluster.list(NEW) == []
    with pytest.raises(NotServed):
        await cluster.list(OLD)
    assert server.asked.count("apis") == 2, "a response about another version changes nothing"
    page = {"kind": "ThingList", "apiVersion": "x.example/v1", "items": []}
    server.responses[THINGS] = [page, WRONG]
    assert await cluster.list(OLD) == []
    await prove_anew(server, cluster)
    missing = json.dumps({"details": {"name": "a", "kind": "things", "group": "x.example"}}).encode()
    server.responses["apis/x.example/v1/namespaces/n/things/a"] = [(404, missing)]
    assert await cluster.get(OLD, KEY) is None
    server.serve(discovery("v1", v1="things"))
    with pytest.raises(Unavailable):
        await cluster.list(OLD)


@pytest.mark.parametrize(
    "wrong",
    [
        WRONG,
        (500, b"{}"),
        (403, b"{}"),
        (200, b"<html>"),
        (409, b"{}"),
        (404, b'{"details": {"name": "apis", "kind": ""}}'),
        {"kind": "APIGroupList", "groups": []},
        {"kind": "APIGroupList", "groups": [{"name": "apps"}, {"name": "x.example", "versions": ["v1"]}]},
        {"kind": "APIGroupList", "groups": None},
        {"kind": "APIGroupList", "groups": ["apps"]},
        {"kind": "APIGroupList", "groups": [{"name": "apps"}, {"name": ["x.example"]}]},
        {"kind": "APIGroupList", "groups": [{"name": "apps"}, {"name": "x.example", "versions": [{"version": {}}]}]},
        {"kind": "Status", "groups": [{"name": "apps"}]},
        [],
    ],
)
async def test_a_discovery_that_is_none_proves_nothing(server: Server, cluster: KubernetesCluster, wrong: Any) -> None:
    server.responses["apis"] = [wrong]
    with pytest.raises(Unavailable, match="could not confirm this"):
        await cluster.list(OLD)


@pytest.mark.parametrize(
    "wrong",
    [
        WRONG,
        {"kind": "Status", "resources": []},
        {"kind": "APIResourceList", "resources": None},
        {},
        {"kind": "APIResourceList", "resources": [{"name": []}]},
    ],
)
async def test_a_list_of_resources_that_is_none_proves_nothing(
    server: Server, cluster: KubernetesCluster, wrong: Any
) -> None:
    server.serve(discovery("v1"))
    server.responses["apis/x.example/v1"] = [wrong]
    with pytest.raises(Unavailable, match="could not confirm this"):
        await cluster.list(OLD)


async def test_the_two_requests_are_apart_and_do_not_delay_other_kinds(
    server: Server, cluster: KubernetesCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    both = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            both.set()
        await both.wait()

    monkeypatch.setattr(module.asyncio, "sleep", sleep)
    server.serve(discovery())
    results = await asyncio.gather(cluster.list(OLD), cluster.list(NODE), return_exceptions=True)
    assert [type(each) for each in results] == [NotServed, NotServed]
    assert waits == [CONFIRM] * 2 and module.CONFIRM == 5.0


async def test_a_command_asks_once(server: Server) -> None:
    server.serve(discovery())
    made = KubernetesCluster.from_file(str(server.path), confirm=0.0)
    try:
        with pytest.raises(NotServed):
            await made.list(OLD)
    finally:
        await made.close()
    assert server.asked.count("apis") == 1


async def test_a_proof_expires(server: Server, cluster: KubernetesCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind may have been installed since, without a response about it."""
    server.serve(discovery())
    with pytest.raises(NotServed):
        await cluster.list(OLD)
    monkeypatch.setattr(module, "VALID", 0.0)
    with pytest.raises(NotServed):
        await cluster.list(OLD)
    assert server.asked.count("apis") == 3, "one request renews the proof"
    await prove_anew(server, cluster)
    assert server.asked.count("apis") == 6, "a new proof takes two"


async def test_requests_at_the_same_time_share_one_proof(server: Server, cluster: KubernetesCluster) -> None:
    server.serve(discovery())
    every = [asyncio.create_task(cluster.list(OLD)) for _ in range(10)]
    await asyncio.sleep(CONFIRM / 2)
    every[0].cancel()
    results = await asyncio.gather(*every, return_exceptions=True)
    assert {type(each) for each in results[1:]} == {NotServed}
    assert server.asked.count("apis") == 2


FOREIGN = [
    (404, {"details": {"name": "c-m-abc", "kind": "clusters", "group": "management.example.io"}}),
    (404, {"details": {"name": "a", "kind": "things", "group": "other.example"}}),
    (404, {"details": {"name": "a"}}),
    (404, {"details": "none"}),
    (404, {"details": {"name": "elsewhere", "kind": "namespaces"}}),
    (200, {}),
    (200, []),
    (200, {"kind": "Status"}),
    (200, {"kind": "Thing", "metadata": {"name": "b"}}),
    (200, {"kind": "Other", "metadata": {"name": "a"}}),
    (200, {"kind": "Thing", "metadata": None}),
]


@pytest.mark.parametrize(("code", "body"), FOREIGN)
async def test_a_response_about_another_object_is_no_absence(
    server: Server, cluster: KubernetesCluster, code: int, body: Any
) -> None:
    """Proxies in front of API servers have objects of their own."""
    server.serve(discovery("v1", v1="things"))
    server.responses["apis/x.example/v1/namespaces/n/things/a"] = [(code, json.dumps(body).encode())]
    with pytest.raises(TransientError) as error:
        await cluster.get(OLD, KEY)
    assert not isinstance(error.value, NotServed)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"{}",
        b"[]",
        b'{"items": []}',
        b'{"kind": "ThingList", "apiVersion": "x.example/v2", "items": []}',
        b'{"kind": "Things", "apiVersion": "x.example/v1", "items": []}',
        b'{"kind": "ThingList", "apiVersion": "x.example/v1", "items": [{}]}',
        b'{"kind": "ThingList", "apiVersion": "x.example/v1", "items": ["a"]}',
        b'{"kind": "ThingList", "apiVersion": "x.example/v1", "items": ""}',
        b'{"kind": "ThingList", "apiVersion": "x.example/v1"}',
        b'{"kind": "ThingList", "apiVersion": "x.example/v1", "items": [], "metadata": "x"}',
        b'{"kind": "ThingList", "apiVersion": "x.example/v1", "items": [], "metadata": {"continue": 5}}',
    ],
)
async def test_a_response_that_is_no_list_of_the_kind_is_not_an_empty_one(
    server: Server, cluster: KubernetesCluster, body: bytes
) -> None:
    server.responses[THINGS] = [(200, body)]
    with pytest.raises(Unavailable, match="the response is no"):
        await cluster.list(OLD)
