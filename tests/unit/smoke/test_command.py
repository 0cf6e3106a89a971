"""`stackwright smoke` as it is called: exit codes, streams, files."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.cli.app import app
from stackwright.cli.cluster import connection as cli_connection
from stackwright.cli.state import access as cli_access
from stackwright.cli.use import smoke
from stackwright.core.openstack.deployed.access import Access
from tests.unit.smoke.cloud_in_memory import World, stage

Smoke = Callable[..., Any]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    made = World()

    async def nobody(*_: Any) -> None:
        return None

    monkeypatch.setattr(smoke, "_stage", lambda access, folder: stage(made, folder))
    monkeypatch.setattr(cli_access, "read_access", nobody)
    (tmp_path / "kubeconfig").write_text("{}")
    monkeypatch.setattr(cli_connection, "connected", lambda given: _Connected())
    return made


class _Connected:
    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, *_: Any) -> None:
        return None


def called(*words: str) -> Any:
    return CliRunner().invoke(app, ["smoke", *words])


def test_all_pass(world: World, tmp_path: Path) -> None:
    result = called("--junit", str(tmp_path / "smoke.xml"))
    assert result.exit_code == 0, result.output
    assert " ✓ ssh logs in with the key (" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("14 of 14 passed in ")
    assert 'tests="14" failures="0"' in (tmp_path / "smoke.xml").read_text()


def test_an_unwritable_file_is_reported_after_the_results(world: World, tmp_path: Path) -> None:
    result = called("--junit", str(tmp_path / "none/smoke.xml"))
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1].startswith("14 of 14 passed in ")
    assert result.stderr.splitlines()[-1] == f"--junit {tmp_path}/none/smoke.xml: No such file or directory"


def test_a_failure_is_reported_and_sets_the_exit_code(world: World) -> None:
    world.fault, world.boot_status = "No valid host was found.", "ERROR"
    result = called()
    assert result.exit_code == 1
    assert " ✗ Virtual machine is ACTIVE" in result.stdout
    assert "     The virtual machine is in status ERROR: No valid host was found." in result.stdout
    assert " - ssh logs in with the key: skipped, needs boot" in result.stdout
    assert " ✓ Clean up" in result.stdout


def test_standard_output_contains_only_json(world: World) -> None:
    world.external = None
    result = called("-o", "json", "--checks", "ping")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["passed"]) == (1, False)
    assert [(each["name"], each["outcome"]) for each in told["checks"]] == [
        ("login", "passed"),
        ("image", "passed"),
        ("flavors", "passed"),
        ("network", "failed"),
        ("boot", "skipped"),
        ("ping", "skipped"),
        ("cleanup", "passed"),
    ]


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_cleans_up(world: World, number: signal.Signals) -> None:
    world.during = lambda what: os.kill(os.getpid(), number) if what == "ssh" else None
    result = called()
    assert result.exit_code == 130
    assert "Interrupted. Created resources are deleted" in result.stderr
    assert not (world.servers or world.projects)


def test_kept_resources_are_named(world: World) -> None:
    result = called("--keep", "--checks", "ping")
    assert result.exit_code == 0
    kept = next(line for line in result.stdout.splitlines() if line.startswith("Kept until the next run"))
    assert "172.24.4.9" in kept
    key = Path(kept.split("key ")[1].split(",")[0])
    assert key.exists()
    for file in key.parent.iterdir():
        file.unlink()
    key.parent.rmdir()


def test_an_authority_that_is_no_certificate_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def access(*_: Any) -> Access:
        auth = dict.fromkeys(("username", "password", "project_name", "user_domain_name", "project_domain_name"), "x")
        return Access("x.invalid", auth, "RegionOne", "garbage")

    monkeypatch.setattr(cli_access, "read_access", access)
    (tmp_path / "kubeconfig").write_text("{}")
    monkeypatch.setattr(cli_connection, "connected", lambda given: _Connected())
    result = called()
    assert result.exit_code == 1
    assert result.stderr == "ca.crt of Secret openstack-public-tls is not a certificate in PEM format\n"
