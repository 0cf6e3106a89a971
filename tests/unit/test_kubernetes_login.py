"""A kubeconfig whose user logs in by a command or a file: it works, or says in a sentence why it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stackwright.adapters.kubernetes import KubernetesCluster
from stackwright.api.kinds import NODE
from stackwright.core.ports import NotYet

API = "client.authentication.k8s.io"


async def told(folder: Path, user: dict[str, Any]) -> str:
    """Nothing listens at port 1: whoever has a token learns that."""
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
    cluster = KubernetesCluster.from_file(str(path))
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


async def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert "/no/such" in await told(tmp_path, {"exec": {"apiVersion": f"{API}/v1", "command": "/no/such"}})


async def test_a_file_of_a_token_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert "/no/such" in await told(tmp_path, {"tokenFile": "/no/such"})
