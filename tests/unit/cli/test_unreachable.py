"""Commands on a cluster whose API server does not run: a sentence soon, and nothing that programs take for data."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from stackwright.cli.app import app
from stackwright.local.cluster import doctor
from support.paths import ROOT

CLOUD = str(ROOT / "examples/cloud.yaml")
TOLD = "the Kubernetes API cannot be reached at"
COMMANDS = [
    *("status", "status -o json", "wait", "wait -o json", "wait cloud --timeout 0", "servers -o json", "history cloud"),
    *("logs keystone", "restart nova", "pause cloud", "resume cloud", "rollback cloud 1", "delete cloud --yes"),
    *("openrc", "smoke", f"plan -f {CLOUD}", f"plan -f {CLOUD} -o json", f"apply -f {CLOUD}"),
    *(f"apply -f {CLOUD} --yes -o json", "report -f {folder}/report.tar.gz"),
]


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Of a port of this machine that nobody listens on, and that nobody else gets meanwhile."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        server = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        path = tmp_path / "kubeconfig"
        context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
        clusters = [{"name": "c", "cluster": {"server": server}}]
        users = [{"name": "u", "user": {"token": "t"}}]
        path.write_text(
            yaml.safe_dump({"contexts": [context], "clusters": clusters, "users": users, "current-context": "x"})
        )
        monkeypatch.setenv("STACKWRIGHT_HOME", str(tmp_path / "local"))
        monkeypatch.setenv("KUBECONFIG", str(path))
        yield path


def called(*words: str) -> Any:
    return CliRunner().invoke(app, words)


@pytest.mark.parametrize("words", COMMANDS)
def test_an_api_server_that_does_not_run_is_one_line_on_stderr(kubeconfig: Path, words: str) -> None:
    result = called(*words.format(folder=kubeconfig.parent).split())
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    [line] = result.stderr.splitlines()
    assert TOLD in line
    assert not (kubeconfig.parent / "report.tar.gz").exists()


@pytest.mark.parametrize("words", [("-f", CLOUD), ("--kubeconfig", "{kubeconfig}"), ("--nodes",)])
def test_doctor_has_a_finding_for_a_cluster_that_cannot_be_examined(kubeconfig: Path, words: tuple[str, ...]) -> None:
    given = [word.format(kubeconfig=kubeconfig) for word in words]
    result = called("doctor", *given)
    assert result.exit_code == 1
    assert result.stdout.startswith(" ✗ cluster: ") and TOLD in result.stdout
    result = called("doctor", *given, "-o", "json")
    assert result.exit_code == 1
    [finding] = json.loads(result.stdout)
    assert (finding["subject"], finding["level"]) == ("cluster", "problem")
    assert TOLD in finding["text"]


class Refusing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        text = b'{"kind": "Status", "code": 401, "message": "Unauthorized"}'
        self.send_response(401)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None: ...


def test_refused_credentials_are_another_finding_of_doctor(kubeconfig: Path) -> None:
    server = HTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    given = yaml.safe_load(kubeconfig.read_text())
    given["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{server.server_port}"
    kubeconfig.write_text(yaml.safe_dump(given))
    try:
        result = called("doctor", "--kubeconfig", str(kubeconfig), "-o", "json")
    finally:
        server.shutdown()
        server.server_close()
    [finding] = json.loads(result.stdout)
    assert (finding["subject"], finding["level"]) == ("credentials", "problem")
    assert "refuses the credentials: HTTP 401 Unauthorized" in finding["text"]
    assert finding["remedy"].startswith("Log in again")


def test_a_kubeconfig_that_is_none_is_a_finding_of_doctor(kubeconfig: Path) -> None:
    kubeconfig.write_text("[]")
    result = called("doctor", "-f", CLOUD, "-o", "json")
    assert result.exit_code == 1
    [finding] = json.loads(result.stdout)
    assert "is not a usable kubeconfig" in finding["text"]


def test_version_has_its_own_and_the_cause(kubeconfig: Path) -> None:
    result = called("version", "-o", "json")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert told["program"] and TOLD in told["problem"]


def test_doctor_of_the_machine_tells_that_it_examines_no_other_cluster(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "examine", lambda _: [])
    result = called("doctor", "-o", "json")
    assert result.exit_code == 0
    [finding] = json.loads(result.stdout)
    assert finding["level"] == "note"
    assert finding["remedy"] == f"`stackwright doctor --kubeconfig {kubeconfig}` examines that cluster."
    monkeypatch.delenv("KUBECONFIG")
    assert json.loads(called("doctor", "-o", "json").stdout) == []
