"""The check of stacks, in a cloud in memory and through the SDK, and the stacks that a killed run left."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from openstack.exceptions import NotFoundException

from stackwright.cli.ui.progress import silent
from stackwright.smoke import leftovers
from stackwright.smoke.checks import chosen
from stackwright.smoke.checks.stack import TEMPLATE
from stackwright.smoke.openstack import projects
from stackwright.smoke.openstack.orchestration import OrchestrationApi
from stackwright.smoke.openstack.projects import ProjectsApi
from stackwright.smoke.run import FAILED, PASSED, Result, run
from stackwright.smoke.tenant import Leftover, Project, Stack
from tests.unit.smoke.cloud_in_memory import World, stage

HEAT = frozenset({"orchestration"})


def outcome(world: World, folder: Path) -> dict[str, Result]:
    return {each.name: each for each in run(stage(world, folder), chosen(["stack"]), silent, lambda result: None)}


def test_a_stack_is_created_read_and_deleted(tmp_path: Path) -> None:
    world = World(services=HEAT)
    found = outcome(world, tmp_path)
    assert [(name, result.outcome) for name, result in found.items()] == [
        ("login", PASSED), ("stack", PASSED), ("cleanup", PASSED),
    ]  # fmt: skip
    assert not (world.stacks or world.projects)
    assert sum(each.seconds for each in found.values()) < 20


def test_a_cloud_without_the_service_is_not_asked(tmp_path: Path) -> None:
    assert [*outcome(World(), tmp_path)] == ["login", "cleanup"]


def test_a_failed_stack_is_reported_with_its_cause_and_deleted(tmp_path: Path) -> None:
    world = World(services=HEAT, stack_status="CREATE_FAILED")
    found = outcome(world, tmp_path)
    assert found["stack"].outcome == FAILED
    assert found["stack"].message == "The stack is CREATE_FAILED: no engine"
    assert not world.stacks


def test_a_stack_without_its_output_fails(tmp_path: Path) -> None:
    found = outcome(World(services=HEAT, text="short"), tmp_path)
    assert found["stack"].message == "The output of the stack has 5 characters instead of 24"


def test_a_stack_that_is_not_deleted_fails(tmp_path: Path) -> None:
    found = outcome(World(services=HEAT, stacks_stay=True), tmp_path)
    assert found["stack"].outcome == FAILED
    assert "The stack is deleted: not within 60 s: the stack is DELETE_IN_PROGRESS" in found["stack"].message


def test_stacks_of_a_killed_run_are_deleted_before_their_servers() -> None:
    deleted: list[str] = []
    things = [Leftover("stack", "a", "a"), Leftover("server", "b", "b"), Leftover("user", "c", "c")]

    def delete(thing: Leftover) -> None:
        deleted.append(thing.id)
        things.remove(thing)

    clock = SimpleNamespace(now=lambda: 0.0, sleep=lambda seconds: None)
    api = SimpleNamespace(leftovers=lambda project: list(things), delete=delete)

    def until(what: str, missing: Any, limit: float) -> None:
        while missing():
            pass

    told: Any = SimpleNamespace(projects=api, clock=clock, until=until)
    leftovers.remove(told, Project("p", "p"))
    assert deleted == ["a", "b", "c"]


def connection(*stacks: Any) -> Any:
    api = Mock()
    api.stacks.side_effect = lambda **query: iter(stacks)
    api.create_stack.return_value = SimpleNamespace(id="new")
    return SimpleNamespace(orchestration=api)


def test_an_interrupted_creation_is_completed() -> None:
    """The name in a request is a filter of Heat."""
    there = connection(SimpleNamespace(id="other", name="smoke-12"), SimpleNamespace(id="s", name="smoke-1"))
    assert OrchestrationApi(there).create("smoke-1", TEMPLATE) == "s"
    there.orchestration.create_stack.assert_not_called()
    absent = connection(SimpleNamespace(id="other", name="smoke-12"))
    assert OrchestrationApi(absent).create("smoke-1", TEMPLATE) == "new"
    sent = absent.orchestration.create_stack.call_args.kwargs
    assert (sent["name"], sent["template"]) == ("smoke-1", TEMPLATE)


@pytest.mark.filterwarnings("ignore")  # of the SDK, about itself
def test_a_stack_is_read_with_its_outputs() -> None:
    found = connection()
    found.orchestration.get_stack.return_value = SimpleNamespace(
        id="s", status="CREATE_COMPLETE", status_reason=None, outputs=[{"output_key": "text", "output_value": "x"}]
    )
    assert OrchestrationApi(found).stack("s") == Stack("s", "CREATE_COMPLETE", "", {"text": "x"})
    found.orchestration.get_stack.side_effect = NotFoundException()
    assert OrchestrationApi(found).stack("s") is None


def test_stacks_of_a_project_are_found_and_deleted_by_the_administrator_as_a_member(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = connection(SimpleNamespace(id="s", name="smoke-1", status="DELETE_IN_PROGRESS"))
    logins: list[dict[str, Any]] = []
    monkeypatch.setattr(projects, "connect", lambda auth, region, ca_file: logins.append(auth) or there)
    admin: Any = Mock(current_user_id="u")
    access: Any = SimpleNamespace(
        auth={"username": "admin", "project_name": "admin"}, auth_url="http://k/v3", region="R", services=HEAT
    )
    api = ProjectsApi(admin, access, "")
    (found,) = api._stacks(Project("p", "smoke-1"))
    assert found == Leftover("stack", "p/smoke-1/s", "smoke-1", going=True)
    api.delete(found)
    there.orchestration.delete_stack.assert_called_once_with("s")
    assert [auth["project_name"] for auth in logins] == ["smoke-1"], "one login for a project"
    assert admin.identity.assign_project_role_to_user.call_args.args[:2] == ("p", "u")
