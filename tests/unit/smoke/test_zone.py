"""The check of zones, in a cloud in memory and through the SDK, and the zones that a killed run left."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from openstack.exceptions import NotFoundException

from stackwright.cli.ui.progress import silent
from stackwright.smoke.checks import chosen
from stackwright.smoke.openstack import projects
from stackwright.smoke.openstack.names import NamesApi
from stackwright.smoke.openstack.projects import ProjectsApi
from stackwright.smoke.run import FAILED, PASSED, Result, run
from stackwright.smoke.tenant import Leftover, Project
from tests.unit.smoke.cloud_in_memory import World, stage

DNS = frozenset({"dns"})


def outcome(world: World, folder: Path) -> dict[str, Result]:
    return {each.name: each for each in run(stage(world, folder), chosen(["zone"]), silent, lambda result: None)}


def test_a_zone_and_a_recordset_are_published_and_deleted(tmp_path: Path) -> None:
    world = World(services=DNS)
    found = outcome(world, tmp_path)
    assert [(name, result.outcome) for name, result in found.items()] == [
        ("login", PASSED), ("zone", PASSED), ("cleanup", PASSED),
    ]  # fmt: skip
    assert not (world.zones or world.projects)
    assert sum(each.seconds for each in found.values()) < 20


def test_a_cloud_without_the_service_is_not_asked(tmp_path: Path) -> None:
    assert [*outcome(World(), tmp_path)] == ["login", "cleanup"]


@pytest.mark.parametrize(
    ("world", "said"),
    [
        (World(services=DNS, zone_status="ERROR"), "the log of designate-worker"),
        (World(services=DNS, zone_status="PENDING"), "The zone is active: not within 60 s: its status is PENDING"),
        (World(services=DNS, zones_stay=True), "The zone is deleted: not within 60 s: its status is DELETED"),
    ],
    ids=["error", "pending", "undeletable"],
)
def test_a_zone_that_is_not_published_or_not_deleted_fails(tmp_path: Path, world: World, said: str) -> None:
    found = outcome(world, tmp_path)
    assert found["zone"].outcome == FAILED
    assert said in found["zone"].message


def test_a_zone_and_its_recordset_are_asked_by_their_ids() -> None:
    dns = Mock()
    dns.create_zone.return_value = SimpleNamespace(id="z")
    dns.create_recordset.return_value = SimpleNamespace(id="r")
    dns.get_zone.side_effect = [SimpleNamespace(status="ACTIVE"), NotFoundException("gone")]
    dns.get_recordset.return_value = SimpleNamespace(status="PENDING")
    api = NamesApi(Mock(dns=dns))
    assert api.create("a.example.") == "z"
    dns.create_zone.assert_called_once_with(name="a.example.", email="hostmaster@a.example")
    assert api.add("z", "www.a.example.", "192.0.2.1") == "r"
    assert dns.create_recordset.call_args.args == ("z",)
    assert (api.state("z"), api.state("z", "r"), api.state("z")) == ("ACTIVE", "PENDING", None)
    dns.get_recordset.assert_called_once_with("r", "z")
    api.delete("z")
    dns.delete_zone.assert_called_once_with("z")


def test_zones_of_a_project_are_found_and_deleted_by_the_administrator_as_a_member(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dns = Mock()
    dns.zones.return_value = [
        SimpleNamespace(id="z", name="a.example.", action="NONE", status="ACTIVE"),
        SimpleNamespace(id="y", name="b.example.", action="DELETE", status="PENDING"),
    ]
    there: Any = SimpleNamespace(dns=dns)
    monkeypatch.setattr(projects, "connect", lambda auth, region, ca_file: there)
    access: Any = SimpleNamespace(
        auth={"username": "admin", "project_name": "admin"}, auth_url="http://k/v3", region="R", services=DNS
    )
    api = ProjectsApi(Mock(current_user_id="u"), access, "")
    found = list(api._zones(Project("p", "smoke-1")))
    assert found == [
        Leftover("zone", "p/smoke-1/z", "a.example."), Leftover("zone", "p/smoke-1/y", "b.example.", going=True),
    ]  # fmt: skip
    api.delete(found[0])
    dns.delete_zone.assert_called_once_with("z")
