"""docs/bad-input.md: what the commands print that need no cluster."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import bad_input as generator
import pytest
from typer.testing import CliRunner

from stackwright.cli.app import app
from stackwright.cli.cluster import connection as cli_connection
from stackwright.cli.manifests.load import check
from stackwright.controllers.cloud.converge import another

NEED_A_CLUSTER = ("logs", "status")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No command reaches a cluster."""

    def connected(*_: Any) -> Any:
        raise AssertionError("needs a cluster")

    monkeypatch.setattr(cli_connection, "connected", connected)
    monkeypatch.setenv("COLUMNS", "80")


def printed(*words: str | Path) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], prog_name="stackwright")
    return f"{(done.stdout + done.stderr).strip()}\n[exit code {done.exit_code}]"


def test_each_output_is_as_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With UPDATE_GOLDEN, writes those that changed."""
    monkeypatch.setattr(generator, "FILE", tmp_path / "FILE")
    monkeypatch.setattr(generator, "stackwright", printed)
    titles = [
        title
        for title, _, shown in generator.FILES
        if shown.startswith("stackwright ") and shown.split()[1] not in NEED_A_CLUSTER
    ]
    page = generator.PAGE.read_text()
    wanted = generator.replaced(page, generator.files(titles))
    assert len(titles) > 20
    if os.environ.get("UPDATE_GOLDEN"):
        generator.PAGE.write_text(wanted)
    assert wanted == page


def test_admission_has_the_messages_of_the_command_line() -> None:
    sections = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", generator.PAGE.read_text()))
    told = 0
    for title, given, shown in generator.FILES:
        if shown.startswith("kubectl") and (found := re.search(r"(?s) denied the request: (.*)\n\[", sections[title])):
            assert found[1].split("\n") == check(given, "openstack")[1]
            told += 1
    assert told > 1


def test_a_second_cloud_has_the_message_of_its_condition() -> None:
    assert another(["OpenStackDeployment cloud"]).message in generator.PAGE.read_text()
