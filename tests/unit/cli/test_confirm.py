"""Losses are listed first, and without a terminal they require --yes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.api.kinds import SECRET
from stackwright.cli.app import app
from stackwright.cli.confirm import confirm, foreseen_losses
from stackwright.cli.failures import CliError
from stackwright.cli.manifests.load import Manifest
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.forecast.entries import CHANGE, DELETE, FAIL, NOTE, RELEASE, Entry, Failure, Topic
from stackwright.forecast.losses import incomplete, losses
from stackwright.runtime.memory import MemoryCluster

KEY = ("openstack", "cloud")
SPEC = {"openstack_version": "epoxy", "preset": "core", "size": "single"}


def deleted(kind: str, name: str) -> Entry:
    return Entry(DELETE, "delete", f"{kind} openstack/{name}", subject=(kind, "openstack", name))


LOST = [
    Entry(DELETE, "helm", "release openstack/nova", subject=(RELEASE, "openstack", "nova")),
    deleted("Nova", "nova"),
]
REPLACED = [
    deleted("Job", "db-sync"),
    deleted("HelmBundle", "openstack-nova"),
    deleted("MessagingAccount", "nova"),
    Entry(CHANGE, "helm", "release openstack/glance", subject=(RELEASE, "openstack", "glance")),
]


def called(*words: str, stdin: str = "") -> Any:
    return CliRunner().invoke(app, words, input=stdin)


def test_losses_are_releases_services_and_data() -> None:
    assert losses([*LOST, *REPLACED]) == ["release openstack/nova", "Nova openstack/nova"]
    assert not losses([deleted("DatabaseAccount", "nova"), Entry(NOTE, Topic.KEPT, "database nova")])
    assert losses([Entry(NOTE, Topic.LOST, "database nova")]) == ["database nova"]


@pytest.mark.parametrize(
    ("resource_type", "is_lost"),
    [("server", True), ("volume", True), ("floating-ip", True), ("port", False), ("router", False)],
)
def test_resources_with_data_or_an_address_are_losses(resource_type: str, is_lost: bool) -> None:
    what = f"{resource_type} a in cloud mine of Secret demo/clouds"
    assert losses([Entry(DELETE, "openstack", what, resource_type=resource_type)]) == [what] * is_lost
    assert not losses([Entry(CHANGE, "openstack", what, resource_type=resource_type)])


def test_a_chart_that_cannot_be_rendered_hides_no_loss() -> None:
    """Only its restarts are unknown; a step that would fail hides what comes after it."""
    step, chart = Entry(FAIL, Failure.STEP, "Nova", "why"), Entry(FAIL, Failure.RENDERING, "release a/b", "why")
    assert incomplete([step, chart]) == ["unknown, because Nova: why"]


def test_without_a_terminal_a_loss_is_refused() -> None:
    with pytest.raises(CliError, match=r"Nothing was applied\. .* --yes"):
        confirm(["release a"], "Nothing was applied.")
    confirm([], "")


@pytest.mark.parametrize("agreed", [True, False])
def test_at_a_terminal_the_user_is_prompted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], agreed: bool
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: agreed)
    with nullcontext() if agreed else pytest.raises(CliError, match="Nothing was applied"):
        confirm(["release a"], "Nothing was applied.")
    assert "  - release a" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [TransientError("etcd is away"), TerminalError("forbidden"), Conflict("changed", OpenStackDeployment.KIND, KEY)],
)
async def test_an_unpredictable_change_counts_as_a_loss(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    async def fails(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr("stackwright.cli.foresee.foresee", fails)
    cluster = MemoryCluster()
    there = {"metadata": {"namespace": KEY[0], "name": KEY[1]}, "spec": SPEC}
    cluster.put(OpenStackDeployment.KIND, there)
    found = await foreseen_losses(cluster, [Manifest(OpenStackDeployment.KIND, there)])
    assert found == [f"unknown, because the plan failed: {error}"]


async def test_clouds_are_queried_with_the_credentials_in_the_same_file(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[Manifest]] = []

    async def foresee(cluster: Any, manifests: list[Manifest], *_: Any, **__: Any) -> Any:
        asked.append(manifests)
        return [], {}

    monkeypatch.setattr("stackwright.cli.foresee.foresee", foresee)
    cluster = MemoryCluster()
    there = {"metadata": {"namespace": KEY[0], "name": KEY[1]}, "spec": SPEC}
    cluster.put(OpenStackDeployment.KIND, there)
    cloud = Manifest(OpenStackDeployment.KIND, there)
    own, other = (Manifest(SECRET, {"metadata": {"namespace": each, "name": "clouds"}}) for each in (KEY[0], "other"))
    assert await foreseen_losses(cluster, [own, cloud, other]) == []
    assert asked == [[cloud, own]]
