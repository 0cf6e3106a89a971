"""The check of secrets, in a cloud in memory and through the SDK, and the secrets that a killed run left."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from stackwright.cli.ui.progress import silent
from stackwright.smoke.checks import chosen
from stackwright.smoke.openstack import projects
from stackwright.smoke.openstack.key_manager import KeyManagerApi
from stackwright.smoke.openstack.projects import ProjectsApi
from stackwright.smoke.run import FAILED, PASSED, Result, run
from stackwright.smoke.tenant import Leftover, Order, Project
from tests.unit.smoke.cloud_in_memory import World, stage

BARBICAN = frozenset({"key-manager"})


def outcome(world: World, folder: Path) -> dict[str, Result]:
    return {each.name: each for each in run(stage(world, folder), chosen(["secret"]), silent, lambda result: None)}


def test_a_secret_is_stored_and_read_and_a_key_generated(tmp_path: Path) -> None:
    world = World(services=BARBICAN)
    found = outcome(world, tmp_path)
    assert [(name, result.outcome) for name, result in found.items()] == [
        ("login", PASSED), ("secret", PASSED), ("cleanup", PASSED),
    ]  # fmt: skip
    assert not (world.secrets or world.orders or world.projects)
    assert sum(each.seconds for each in found.values()) < 20


def test_a_cloud_without_the_service_is_not_asked(tmp_path: Path) -> None:
    assert [*outcome(World(), tmp_path)] == ["login", "cleanup"]


def test_another_secret_than_the_stored_one_fails_and_is_not_shown(tmp_path: Path) -> None:
    found = outcome(World(services=BARBICAN, forgetful=True), tmp_path)
    assert found["secret"].outcome == FAILED
    assert found["secret"].message == "The secret that is read is not the one that was stored"


@pytest.mark.parametrize(
    ("status", "said"),
    [("ERROR", "The order of a key failed; the log of barbican-worker"), ("PENDING", "the order is PENDING")],
)
def test_a_key_that_is_not_generated_fails(tmp_path: Path, status: str, said: str) -> None:
    world = World(services=BARBICAN, order_status=status)
    found = outcome(world, tmp_path)
    assert found["secret"].outcome == FAILED
    assert said in found["secret"].message
    assert sum(each.seconds for each in found.values()) < 20


def connection() -> Any:
    return SimpleNamespace(key_manager=Mock())


def test_ids_are_those_of_the_references() -> None:
    there = connection()
    there.key_manager.create_secret.return_value = SimpleNamespace(secret_id="s")
    there.key_manager.get_secret.return_value = SimpleNamespace(payload="text")
    there.key_manager.create_order.return_value = SimpleNamespace(order_id="o")
    there.key_manager.get_order.return_value = SimpleNamespace(status="PENDING", secret_id=None)
    api = KeyManagerApi(there)
    assert (api.store("smoke-1", "text"), api.payload("s"), api.order("smoke-1")) == ("s", "text", "o")
    assert api.ordered("o") == Order("PENDING")
    sent = there.key_manager.create_secret.call_args.kwargs
    assert sent == {"name": "smoke-1", "payload": "text", "payload_content_type": "text/plain"}


def test_secrets_of_a_project_are_found_and_deleted_by_the_administrator_as_a_member(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = connection()
    there.key_manager.orders.return_value = [SimpleNamespace(order_id="o")]
    there.key_manager.secrets.return_value = [SimpleNamespace(secret_id="s", name="smoke-1")]
    monkeypatch.setattr(projects, "connect", lambda auth, region, ca_file: there)
    access: Any = SimpleNamespace(
        auth={"username": "admin", "project_name": "admin"}, auth_url="http://k/v3", region="R", services=BARBICAN
    )
    api = ProjectsApi(Mock(current_user_id="u"), access, "")
    found = list(api._secrets(Project("p", "smoke-1")))
    assert found == [Leftover("order", "p/smoke-1/o", "smoke-1"), Leftover("secret", "p/smoke-1/s", "smoke-1")]
    for each in found:
        api.delete(each)
    there.key_manager.delete_order.assert_called_once_with("o")
    there.key_manager.delete_secret.assert_called_once_with("s")
