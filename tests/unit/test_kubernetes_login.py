"""A kubeconfig whose user logs in by a command or a file: it works, or says in a sentence why it does not."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from stackwright.adapters import kubernetes
from stackwright.adapters.kubernetes import KubernetesCluster
from stackwright.adapters.kubernetes_logs import Container, LogReader, Part
from stackwright.api.kinds import NODE
from stackwright.core.ports import NotYet, Refused

API = "client.authentication.k8s.io"


def configured(folder: Path, user: dict[str, Any]) -> Path:
    """A kubeconfig. Nothing listens at port 1: whoever has a token learns that."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": user}],
    }
    path = folder / "config"
    path.write_text(json.dumps(config))
    return path


async def told(folder: Path, user: dict[str, Any]) -> str:
    cluster = KubernetesCluster.from_file(str(configured(folder, user)))
    try:
        with pytest.raises(NotYet) as raised:
            await cluster.get(NODE, ("", "n"))
    finally:
        await cluster.close()
    return str(raised.value)


def command(script: str, version: str = "v1") -> dict[str, Any]:
    return {"exec": {"apiVersion": f"{API}/{version}", "command": "/bin/sh", "args": ["-c", script]}}


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_a_command_gives_a_token(tmp_path: Path, version: str) -> None:
    answer = json.dumps({"apiVersion": f"{API}/{version}", "kind": "ExecCredential", "status": {"token": "t"}})
    assert "cannot be reached" in await told(tmp_path, command(f"echo '{answer}'", version))


async def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    found = await told(tmp_path, command("echo log in first >&2; exit 3"))
    assert "no login by the kubeconfig" in found
    assert "log in first" in found


@pytest.mark.parametrize("answer", ["hush", "[]", '{"status": {"hush": 1}}', '{"status": null}'])
async def test_a_command_that_gives_something_else_is_told_without_it(tmp_path: Path, answer: str) -> None:
    found = await told(tmp_path, command(f"echo '{answer}'"))
    assert "gives no ExecCredential" in found
    assert "hush" not in found


async def test_a_version_that_is_not_known_is_told(tmp_path: Path) -> None:
    assert "v9" in await told(tmp_path, command("true", "v9"))


@pytest.mark.parametrize(("name", "why"), [("/no/such", "No such file"), ("/etc/passwd", "Permission denied")])
async def test_a_command_that_cannot_be_run_is_told_and_not_that_the_api_is_away(
    tmp_path: Path, name: str, why: str
) -> None:
    found = await told(tmp_path, {"exec": {"apiVersion": f"{API}/v1", "command": name}})
    assert f"no login by the kubeconfig: its command {name} cannot be run: {why}" in found
    assert "cannot be reached" not in found


async def test_a_command_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes, "LOGIN", 0.5)
    found = await told(tmp_path, command(f"echo $$ > {tmp_path}/pid; exec sleep 100"))
    assert "no login by the kubeconfig: its command /bin/sh has not ended after " in found
    await asyncio.sleep(0.2)
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


async def test_what_a_command_says_is_told_without_secrets(tmp_path: Path) -> None:
    found = await told(tmp_path, command("echo token: hush >&2; exit 3"))
    assert "its command /bin/sh ended with 3: token: ***" in found


async def test_logs_are_read_with_the_same_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes, "LOGIN", 0.5)
    reader = LogReader(configured(tmp_path, command("sleep 100")))
    with pytest.raises(NotYet, match="/bin/sh has not ended after"):
        [line async for line in reader.lines(Container("n", "p", "c"), Part(), follow=False)]


async def test_a_file_of_a_token_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert "/no/such" in await told(tmp_path, {"tokenFile": "/no/such"})


@pytest.mark.parametrize("form", ["command", "text"])
@pytest.mark.parametrize("token", ["hunter2\n", "hunter2\nX: y", "hunter2\0"])
async def test_a_token_that_no_header_can_have_is_not_told(tmp_path: Path, form: str, token: str) -> None:
    """Once something listens, the HTTP library repeats the header that it refuses."""
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    answer = json.dumps({"kind": "ExecCredential", "status": {"token": token}})
    user = {"token": token} if form == "text" else command("printf %s '" + answer + "'")
    path = configured(tmp_path, user)
    path.write_text(path.read_text().replace("127.0.0.1:1", f"127.0.0.1:{server.sockets[0].getsockname()[1]}"))
    cluster = KubernetesCluster.from_file(str(path))
    with pytest.raises(NotYet, match="characters that no header has") as raised:
        await cluster.get(NODE, ("", "n"))
    assert "hunter2" not in str(raised.value)
    assert raised.value.__suppress_context__
    await cluster.close()
    server.close()


async def test_what_a_terminal_would_obey_is_escaped(tmp_path: Path) -> None:
    assert r"\x1b[2J" in await told(tmp_path, command("printf '\\033[2Jno' >&2; exit 3"))


async def test_half_of_a_character_is_no_matter_of_the_login(tmp_path: Path) -> None:
    cluster = KubernetesCluster.from_file(str(configured(tmp_path, {})))
    with pytest.raises(Refused, match="apply Node n: a text in it is not Unicode"):
        await cluster.apply(NODE, {"metadata": {"name": "n", "labels": {"a": "\ud800"}}}, "test")
    await cluster.close()
