"""A compute node that was installed again gets its identity in Nova back before nova-compute starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from support.paths import ROOT

SCRIPT = ROOT / "charts/nova/bin/wait-for-placement.py"
IDENTITY = "333d0a17-855c-4857-bcf7-3b11ef103fbc"
TOKEN = "the token"


@contextmanager
def clouds(providers: dict[str, str]) -> Iterator[str]:
    """Keystone and Placement on one port; resource provider → UUID. Returns the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            endpoints = [
                {"interface": "internal", "region": "another", "url": f"{url}/another/"},
                {"interface": "internal", "region": "here", "url": f"{url}/placement/"},
            ]
            catalog = [{"type": "placement", "endpoints": endpoints}]
            self._send({"token": {"catalog": catalog}}, {"X-Subject-Token": TOKEN})

        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            if not query:
                self._send({"versions": []})
                return
            assert urlsplit(self.path).path == "/placement/resource_providers"
            assert self.headers["X-Auth-Token"] == TOKEN
            (name,) = query["name"]
            found = [{"name": name, "uuid": providers[name]}] if name in providers else []
            self._send({"resource_providers": found})

        def _send(self, content: object, headers: dict[str, str] | None = None) -> None:
            body = json.dumps(content).encode()
            self.send_response(200)
            for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        yield url
        server.shutdown()


class Forgetful(dict[str, str]):
    """Knows node1, but its UUID only when asked again."""

    def __init__(self) -> None:
        super().__init__(node1=IDENTITY)
        self.answers = iter([None])

    def __getitem__(self, name: str) -> Any:
        return next(self.answers, IDENTITY)


def start(folder: Path, providers: dict[str, str], *words: str, host: str = "node1") -> str:
    """Runs the script of the init container on the node node1 with this host name; returns its output."""
    with clouds(providers) as url:
        lines = ["[placement]", f"auth_url = {url}/v3", "username = nova", "password = p", "project_name = service"]
        lines.append("region_name = here")
        (folder / "nova.conf").write_text("\n".join(lines))
        text = SCRIPT.read_text().replace("/etc/nova/", f"{folder}/")
        text = text.replace("socket.gethostname()", repr(host)).replace("socket.getfqdn()", repr(host))
        (folder / SCRIPT.name).write_text(text)
        command = [sys.executable, str(folder / SCRIPT.name), *words]
        env = {"PATH": os.environ["PATH"], "NODE_NAME": "node1"}
        return subprocess.run(command, env=env, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.parametrize("name", ["node1", "node1.example.org"])
def test_a_node_that_nova_knows_gets_the_uuid_of_its_resource_provider(tmp_path: Path, name: str) -> None:
    identity = tmp_path / "compute_id"
    said = start(tmp_path, {name: IDENTITY, "node2": "another"}, str(identity), host=name)
    assert identity.read_text() == IDENTITY
    assert said == f"Nova knows this node: its identity {IDENTITY} is that of resource provider {name}\n"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("compute_id")) == ["compute_id"]


def test_an_empty_file_counts_as_none(tmp_path: Path) -> None:
    identity = tmp_path / "compute_id"
    identity.touch()
    start(tmp_path, {"node1": IDENTITY}, str(identity))
    assert identity.read_text() == IDENTITY


def test_a_new_node_gets_its_identity_from_nova(tmp_path: Path) -> None:
    identity = tmp_path / "compute_id"
    assert start(tmp_path, {"node2": IDENTITY}, str(identity)) == ""
    assert not identity.exists()


def test_a_node_with_the_host_name_of_another_one_does_not_get_its_identity(tmp_path: Path) -> None:
    identity = tmp_path / "compute_id"
    assert start(tmp_path, {"node2": IDENTITY}, str(identity), host="node2") == ""
    assert not identity.exists()


def test_an_identity_is_kept(tmp_path: Path) -> None:
    identity = tmp_path / "compute_id"
    identity.write_text("kept")
    assert start(tmp_path, {"node1": IDENTITY}, str(identity)) == ""
    assert identity.read_text() == "kept"


def test_a_wrong_answer_is_asked_for_again(tmp_path: Path) -> None:
    """Null in place of a UUID, first."""
    identity, providers = tmp_path / "compute_id", Forgetful()
    said = start(tmp_path, providers, str(identity))
    assert identity.read_text() == IDENTITY
    assert said.startswith("Waiting for Placement: ")


def test_others_than_compute_nodes_only_wait(tmp_path: Path) -> None:
    assert start(tmp_path, {"node1": IDENTITY}) == ""
