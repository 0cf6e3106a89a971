"""Requests for the deletion of an object, and the meaning of the responses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import NODE
from stackwright.core.errors import Conflict
from tests.unit.adapters.kubernetes.test_login import configured

GONE = {"name": "n", "kind": "nodes"}
BACKGROUND = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}


class Server:
    """One node with a uid, or none."""

    def __init__(self, folder: Path) -> None:
        self.uid, self.asked = "", list[Any]()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None: ...

            def do_GET(self) -> None:
                node = {"kind": "Node", "metadata": {"name": "n", "uid": server.uid}}
                self.reply(200, node) if server.uid else self.reply(404, {"details": GONE})

            def do_DELETE(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)) or "{}")
                server.asked.append(body)
                assert "propagationPolicy=Background" in self.path
                wanted = body.get("preconditions", {}).get("uid", server.uid)
                code = 404 if not server.uid else 200 if wanted == server.uid else 409
                self.reply(
                    code,
                    {"details": GONE, "message": "Precondition failed: UID in precondition"},
                )

            def reply(self, code: int, body: Any) -> None:
                text = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        self.path = configured(folder, {})
        config = json.loads(self.path.read_text())
        config["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{self.http.server_port}"
        self.path.write_text(json.dumps(config))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    yield made
    made.http.shutdown()
    made.http.server_close()


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
