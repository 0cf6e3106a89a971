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
# What an attempt meets: a wrong password, a program that is not Keystone, no endpoint of Placement, a 503 of Placement.
REFUSED, NO_HTTP, NO_ENDPOINT, UNAVAILABLE = "refused", "no HTTP", "no endpoint", "unavailable"


@contextmanager
def clouds(providers: dict[str, str], trouble: str) -> Iterator[str]:
    """Keystone and Placement on one port; resource provider → UUID. The first attempt meets the trouble.

    Returns the URL.
    """
    left = {trouble}

    def meets(what: str) -> bool:
        found = what in left
        left.discard(what)
        return found

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if meets(NO_HTTP):
                self.wfile.write(b"220 mail.example.org")
            elif meets(REFUSED):
                self._send({}, status=401)
            elif self.path != "/v3/auth/tokens":
                self._send({}, status=404)
            else:
                endpoints = [
                    {"interface": "internal", "region": "another", "url": f"{url}/another/"},
                    {"interface": "public", "region": "here", "url": f"{url}/public/"},
                    {"interface": "internal", "region": "here", "url": f"{url}/placement/"},
                ]
                found = endpoints[:2] if meets(NO_ENDPOINT) else endpoints
                catalog = [{"type": "placement", "endpoints": found}]
                self._send({"token": {"catalog": catalog}}, {"X-Subject-Token": TOKEN})

        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            if not query:
                self._send({"versions": []}, status=503 if meets(UNAVAILABLE) else 200)
                return
            assert urlsplit(self.path).path == "/placement/resource_providers"
            assert self.headers["X-Auth-Token"] == TOKEN
            (name,) = query["name"]
            found = [{"name": name, "uuid": providers[name]}] if name in providers else []
            self._send({"resource_providers": found})

        def _send(self, content: object, headers: dict[str, str] | None = None, status: int = 200) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
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


# Runs the script with these names of the host, and tells how long it would have paused.
RUN = """
import runpy, socket, sys, time
_, script, host, fqdn, *sys.argv[1:] = sys.argv
left = iter(range(9))
def pause(seconds):
    print("pause", seconds, flush=True)
    next(left)
socket.gethostname, socket.getfqdn, time.sleep = lambda: host, lambda: fqdn, pause
runpy.run_path(script)
"""


def start(
    folder: Path, providers: dict[str, str], *words: str, host: str = "node1", fqdn: str = "", trouble: str = ""
) -> str:
    """Runs the script of the init container on the node node1 with this host name; returns its output."""
    with clouds(providers, trouble) as url:
        lines = ["[placement]", f"auth_url = {url}/v3", "username = nova", "password = p", "project_name = service"]
        lines.append("region_name = here")
        (folder / "nova.conf").write_text("\n".join(lines))
        (folder / SCRIPT.name).write_text(SCRIPT.read_text().replace("/etc/nova/", f"{folder}/"))
        command = [sys.executable, "-c", RUN, str(folder / SCRIPT.name), host, fqdn or host, *words]
        env = {"PATH": os.environ["PATH"], "NODE_NAME": "node1"}
        run = subprocess.run(command, env=env, check=True, capture_output=True, text=True, timeout=60)
        return run.stdout.replace(url, "URL")


@pytest.mark.parametrize("name", ["node1", "node1.example.org"])
def test_a_node_that_nova_knows_gets_the_uuid_of_its_resource_provider(tmp_path: Path, name: str) -> None:
    identity = tmp_path / "compute_id"
    said = start(tmp_path, {name: IDENTITY, "node2": "another"}, str(identity), host=name)
    assert identity.read_text() == IDENTITY
    assert said == f"Nova knows this node: its identity {IDENTITY} is that of resource provider {name}\n"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("compute_id")) == ["compute_id"]


def test_the_identity_may_be_that_of_any_name_of_the_node(tmp_path: Path) -> None:
    for number, name in enumerate(("node1.host", "node1.fqdn", "node1")):
        identity = tmp_path / f"compute_id{number}"
        start(tmp_path, {name: IDENTITY}, str(identity), host="node1.host", fqdn="node1.fqdn")
        assert identity.read_text() == IDENTITY, name


def test_an_empty_file_counts_as_none_and_is_replaced_as_a_whole(tmp_path: Path) -> None:
    identity, same = tmp_path / "compute_id", tmp_path / "same"
    identity.touch()
    same.hardlink_to(identity)
    start(tmp_path, {"node1": IDENTITY}, str(identity))
    assert identity.read_text() == IDENTITY
    assert same.read_text() == ""


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


TROUBLES = {
    REFUSED: ("URL/v3/auth/tokens: HTTP Error 401: Unauthorized", 5),
    NO_HTTP: ("URL/v3: 220 mail.example.org", 1),
    NO_ENDPOINT: ("Placement is not in the catalog", 1),
    UNAVAILABLE: ("URL/placement/: HTTP Error 503: Service Unavailable", 1),
}


@pytest.mark.parametrize(("trouble", "said", "pause"), [(name, *told) for name, told in TROUBLES.items()], ids=TROUBLES)
def test_others_than_compute_nodes_only_wait(tmp_path: Path, trouble: str, said: str, pause: int) -> None:
    """Shorter after a failure than after a refusal, because Keystone may count wrong passwords."""
    assert start(tmp_path, {"node1": IDENTITY}) == ""
    output = start(tmp_path, {"node1": IDENTITY}, trouble=trouble)
    assert output.split("\n") == [f"Waiting for Placement: {said}", f"pause {pause}", ""]
