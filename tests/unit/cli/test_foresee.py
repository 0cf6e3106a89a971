"""Objects that a plan uses from its file, and its messages without Cluster API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stackwright.api.kinds import CONFIGMAP, SECRET
from stackwright.cli import foresee
from stackwright.cli.failures import failure_message
from stackwright.cli.manifests.load import Manifest, load
from stackwright.core.errors import NotServed
from stackwright.core.objects import secret_data
from stackwright.core.settings import Settings
from stackwright.forecast.entries import BUILT, Entry, source_of
from stackwright.local.image import images
from stackwright.runtime.memory import MemoryCluster

FILE = """\
apiVersion: v1
kind: Secret
metadata: {name: clouds, namespace: demo}
stringData: {clouds.yaml: new}
"""


async def test_credentials_may_be_in_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them the plan only reported that their Secret does not exist."""
    file, cluster, asked = tmp_path / "m.yaml", MemoryCluster(), []
    file.write_text(FILE)
    cluster.put(SECRET, {"metadata": {"name": "other", "namespace": "demo"}, "data": {"clouds.yaml": "b2xk"}})
    outside = foresee.external_systems

    def spied(reader: Any, namespace: str) -> Any:
        asked.append(reader)
        return outside(reader, namespace)

    monkeypatch.setattr(foresee, "external_systems", spied)
    await foresee.foresee(cluster, load(file, "demo"), "demo")
    (reader,) = asked
    told = [secret_data(await reader.get(SECRET, ("demo", name))) for name in ("clouds", "other")]
    assert told == [{"clouds.yaml": "new"}, {"clouds.yaml": "old"}]
    assert await cluster.get(SECRET, ("demo", "clouds")) is None


async def test_equal_notes_of_two_namespaces_are_both_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a new namespace, of which both forecasts know, is shown once."""
    given = [Manifest(SECRET, {"metadata": {"name": "s", "namespace": space}}) for space in ("a", "b")]
    shared = Entry("create", "apply", "Namespace new", subject=("Namespace", "", "new"))
    restart = Entry("restart", "restart", "StatefulSet mariadb-server", subject=("StatefulSet", "", "mariadb-server"))

    async def forecast(*_: Any) -> Any:
        return [shared, restart], {}

    monkeypatch.setattr(foresee, "forecast", forecast)
    found, _ = await foresee.foresee(MemoryCluster(), given, "a")
    assert found == [shared, restart, restart]


@pytest.mark.parametrize(
    ("group", "hint"),
    [
        ("cluster.x-k8s.io", "Cluster API"),
        ("addons.cluster.x-k8s.io", "Cluster API"),
        ("infrastructure.cluster.x-k8s.io", "Stackwright"),
        ("lcm.stackwright.dev", "Stackwright"),
    ],
)
def test_what_is_missing_is_named(group: str, hint: str) -> None:
    assert f"\n{hint}" in failure_message(NotServed("get x: the API does not serve it: 404", group))


@pytest.mark.parametrize(
    ("before", "after", "source"),
    [
        ((), (), BUILT),
        ((), ("common", "services"), "services"),
        (("common", "services"), ("common",), "common"),
        (("common", "services"), (), "no longer in services"),
    ],
)
def test_a_value_is_of_the_last_level_that_sets_it(
    before: tuple[str, ...], after: tuple[str, ...], source: str
) -> None:
    """Levels are in rising priority."""
    values = {"keystone": {"conf": {"token": {"expiration": 1}}}}

    def levels(names: tuple[str, ...]) -> list[dict[str, Any]]:
        return [{"source": name, "values": values} for name in names]

    path = ("conf", "token", "expiration")
    assert source_of(path, "keystone", levels(before), levels(after)) == source
    assert source_of(("conf", "token", "provider"), "keystone", levels(before), levels(after)) == BUILT
    assert source_of(path, "glance", levels(before), levels(after)) == BUILT


async def test_a_plan_before_an_upgrade_uses_the_images_of_this_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """It used those of the installed operator, so it did not name the pods that restart with new ones."""
    cluster, notes, used = MemoryCluster(), list[str](), list[Any]()
    old = json.dumps({"nova": "r.example/p/nova:000000000000"})
    place = {"namespace": foresee.OPERATOR_NAMESPACE, "name": foresee.IMAGES}
    cluster.put(CONFIGMAP, {"metadata": place, "data": {"images.json": old}})

    async def forecast(_: Any, settings: Settings, *__: Any) -> Any:
        used.append(settings.images)
        return [], {}

    monkeypatch.setattr(foresee, "forecast", forecast)
    monkeypatch.setattr(images, "titles", lambda: {"nova": "nova:222222222222"})
    given = [Manifest(SECRET, {"metadata": {"name": "s", "namespace": "a"}})]
    await foresee.foresee(cluster, given, "a", tell=notes.append)
    assert used == [{"nova": "r.example/p/nova:222222222222"}]
    assert "nova" in notes[0]

    def incomplete() -> dict[str, str]:
        raise FileNotFoundError

    monkeypatch.setattr(images, "titles", incomplete)
    await foresee.foresee(cluster, given, "a", tell=notes.append)
    assert used[1] == json.loads(old)
    assert "no recipes" in notes[1]
