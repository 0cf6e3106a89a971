"""Objects that would not become ready: as text for people, and as data for programs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.api.kinds import NAMESPACE
from stackwright.cli.app import app
from stackwright.runtime.memory import MemoryCluster
from support.commands import connect
from support.paths import ROOT

CAUSE = "Secret demo/stackwright-clouds does not exist (CredentialsMissing)"
OBJECTS = ("OpenStackFloatingIPPool demo/outside", "OpenStackServer demo/shop")


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    memory = MemoryCluster()
    memory.put(NAMESPACE, {"metadata": {"name": "demo"}})
    connect(monkeypatch, memory)
    return memory


def planned(*words: str) -> Any:
    return CliRunner().invoke(app, ["plan", "-f", str(ROOT / "examples/floating-ip.yaml"), *words])


def test_each_object_has_its_own_key_for_programs() -> None:
    assert json.loads(planned("-o", "json").stdout)["stuck"] == dict.fromkeys(OBJECTS, CAUSE)


def test_objects_with_one_cause_share_a_line_for_people() -> None:
    lines = planned().stdout.splitlines()
    [told] = [line for line in lines if CAUSE in line]
    assert all(name in told for name in OBJECTS)
