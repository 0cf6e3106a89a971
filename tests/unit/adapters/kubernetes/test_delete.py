"""Requests for the deletion of an object, and the meaning of the responses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import NODE
from stackwright.core.errors import Conflict
from tests.unit.adapters.kubernetes.local_api import Handler, serving

GONE = {"name": "n", "kind": "nodes"}
BACKGROUND = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}


class Server:
    """One node with a uid, or none."""

    path: Path

    def __init__(self) -> None:
        self.uid, self.asked = "", list[Any]()
        server = self

        class Responder(Handler):
            def do_GET(self) -> None:
                node = {"kind": "Node", "metadata": {"name": "n", "uid": server.uid}}
                code, body = (200, node) if server.uid else (404, {"details": GONE})
                self.reply(code, json.dumps(body).encode())

            def do_DELETE(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)) or "{}")
                server.asked.append(body)
                assert "propagationPolicy=Background" in self.path
                wanted = body.get("preconditions", {}).get("uid", server.uid)
                code = 404 if not server.uid else 200 if wanted == server.uid else 409
                told = {"details": GONE, "message": "Precondition failed: UID in precondition"}
                self.reply(code, json.dumps(told).encode())

        self.handler = Responder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server()
    with serving(made.handler, tmp_path) as made.path:
        yield made


@pytest.mark.parametrize(
    ("there", "meant", "refused"),
    [("a", "", False), ("a", "a", False), ("a", "b", True), ("", "b", False), ("", "", False)],
)
async def test_only_the_object_that_is_meant_is_deleted(server: Server, there: str, meant: str, refused: bool) -> None:
    server.uid = there
    cluster = KubernetesCluster.from_file(str(server.path))
    try:
        if refused:
            with pytest.raises(Conflict):
                await cluster.delete(NODE, ("", "n"), meant)
        else:
            await cluster.delete(NODE, ("", "n"), meant)
    finally:
        await cluster.close()
    assert server.asked == [{**BACKGROUND, "preconditions": {"uid": meant}} if meant else {}]
