"""`down --purge` asks for confirmation and deletes the data of `up`; a foreign folder is not deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.cli.app import app
from stackwright.local import home
from stackwright.local.cluster import teardown
from stackwright.local.cluster.leftovers import Leftovers
from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster
from stackwright.local.host import machine
from stackwright.local.steps.context import Context, remember

STATE = ("nodes/node1/var/lib", "etcd/member", "pki", "log/etcd", "config", "volumes/pvc-1", "ssh")
CACHE = ("tools/kubernetes-fd16747d548b", "images/nova-a7d657d65432", "store/01e8da6833b1b52c")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalCluster:
    """A machine without running processes."""
    made = LocalCluster(tmp_path / "state", tmp_path / "cache", tmp_path / "run")
    monkeypatch.setattr(LocalCluster, "discover", classmethod(lambda cls, environ=None: made))
    for name in ("stop_agents", "clean", "end_pods", "end_processes"):
        monkeypatch.setattr(teardown, name, lambda *words: None)
    monkeypatch.setattr(teardown.services, "end", lambda *words: None)
    monkeypatch.setattr(teardown.supervisor, "stop_all", lambda *words: None)
    monkeypatch.setattr(teardown, "leftovers", lambda cluster: Leftovers())
    return made


@pytest.fixture
def made(cluster: LocalCluster) -> LocalCluster:
    """As `up` of an earlier version left it, intentionally without a mark."""
    for folder, parts in ((cluster.state, STATE), (cluster.cache, CACHE)):
        for part in parts:
            (folder / part).mkdir(parents=True)
    for name in ("kubeconfig", "demo.json", "ca.crt", "pki/admin.inputs", "pki/ca.crt"):
        (cluster.state / name).touch()
    remember(Context(cluster, 1))
    return cluster


def down(*words: str) -> Any:
    return CliRunner().invoke(app, ["down", "--purge", *words])


@pytest.mark.parametrize("gone", [[], ["kubeconfig"], ["kubeconfig", "cluster.json"], ["pki", "kubeconfig"]])
def test_purge_prompts_for_any_remaining_data(made: LocalCluster, gone: list[str]) -> None:
    for name in gone:
        (made.state / name).rename(made.state.parent / name)
    result = down("--cache")
    assert result.exit_code == 1
    for said in ("--yes", str(made.state), str(made.cache), "Nothing was deleted"):
        assert said in result.stderr
    assert (made.etcd_data / "member").exists()
    assert (made.cache / CACHE[0]).exists()


@pytest.mark.parametrize("cache", [True, False])
def test_yes_deletes_data_of_any_version_and_the_cache_if_named(made: LocalCluster, cache: bool) -> None:
    (made.state / "cluster.json.new").touch()
    assert down("--yes", *["--cache"] * cache).exit_code == 0
    assert (made.state.exists(), made.cache.exists()) == (False, not cache)
    assert down().exit_code == 0, "nothing is there, and nobody is asked"


def test_at_a_terminal_a_confirmed_purge_runs(made: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackwright.cli.confirm.sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("stackwright.cli.confirm.confirm", lambda lost, refused: None)
    assert down().exit_code == 0
    assert not made.state.exists()


@pytest.mark.parametrize(
    "names",
    [
        ["www/index.html"],
        ["pki/ca.crt", "pki/ca.key", "manifests/etcd.yaml"],
        ["log/messages", "config/app.yaml", "images/cat.jpg"],
        ["cluster.json", "nodes/a"],
        ["kubeconfig"],
    ],
)
@pytest.mark.parametrize("words", [["--yes"], ["--yes", "--cache"], []])
@pytest.mark.parametrize("which", ["state", "cache"])
def test_a_foreign_folder_is_rejected_with_any_answer(
    made: LocalCluster, monkeypatch: pytest.MonkeyPatch, names: list[str], words: list[str], which: str
) -> None:
    if which == "cache" and "--cache" not in words:
        return
    other = made.state.parent / "srv"
    for name in names:
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_text("[]")
    places = {"state": made.state, "cache": made.cache, "run": made.run, which: other}
    monkeypatch.setattr(LocalCluster, "discover", classmethod(lambda cls, environ=None: LocalCluster(**places)))
    result = down(*words)
    assert result.exit_code == 1
    assert {"state": "STACKWRIGHT_HOME", "cache": "STACKWRIGHT_CACHE"}[which] in result.stderr
    assert all((other / name).read_text() == "[]" for name in names)
    assert (made.state / "etcd/member").exists(), "and nothing else was done"


def test_of_a_folder_with_files_of_others_these_are_kept_and_named(made: LocalCluster) -> None:
    (made.state / "www").mkdir()
    (made.cache / "photos").mkdir()
    result = down("--yes", "--cache")
    assert result.exit_code == 0
    assert f"{made.state / 'www'}, {made.cache / 'photos'}" in result.output
    assert [each.name for each in made.state.iterdir()] == ["www"]
    assert [each.name for each in made.cache.iterdir()] == ["photos"]


def test_a_failed_deletion_is_reported_and_the_mark_remains(
    made: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home.shutil, "rmtree", lambda *words, **more: None)
    result = down("--yes")
    assert result.exit_code == 1
    assert f"{made.state / 'nodes'} could not be deleted" in result.stderr
    assert home.home(made).is_ours()


def test_a_link_to_the_data_is_followed_and_none_in_it(made: LocalCluster) -> None:
    real, other = made.state.parent / "real", made.state.parent / "other"
    made.state.rename(real)
    made.state.symlink_to(real)
    (other / "a").mkdir(parents=True)
    (real / "log").rename(real / "log.old")
    (real / "log").symlink_to(other)
    assert down("--yes").exit_code == 0
    assert [each.name for each in real.iterdir()] == ["log.old"]
    assert (other / "a").exists()


@pytest.mark.parametrize("step", range(len(home.home(LocalCluster(Path("s"), Path("c"))).names)))
def test_an_interrupted_purge_can_continue(made: LocalCluster, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    names = home.home(made).names
    for name in names[:step]:
        path = made.state / name
        teardown.shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert down("--yes").exit_code == 0
    assert not made.state.exists()


def test_up_creates_no_cluster_next_to_foreign_files(cluster: LocalCluster) -> None:
    assert machine._foreign_home(cluster) == []
    (cluster.state / "lost+found").mkdir(parents=True)
    (cluster.state / "pki").mkdir()
    assert machine._foreign_home(cluster) == [], "as an `up` leaves it that was killed at once"
    inside = LocalCluster(cluster.state, cluster.state / "mine/cache", cluster.run)
    inside.cache.mkdir(parents=True)
    assert machine._foreign_home(inside) == []
    (cluster.state / "www").mkdir()
    [problem] = machine._foreign_home(inside)
    assert "www" in problem.what
    assert "STACKWRIGHT_HOME" in problem.remedy
    remember(Context(cluster, 1))
    assert machine._foreign_home(cluster) == [], "a cluster that is there goes on"


def test_an_empty_or_missing_folder_passes_the_check(tmp_path: Path) -> None:
    for place in (tmp_path / "none", tmp_path):
        home.home(LocalCluster(place, place)).check()
        home.cache(LocalCluster(place, place)).check()
    (tmp_path / "x").touch()
    with pytest.raises(LocalError, match="STACKWRIGHT_CACHE"):
        home.cache(LocalCluster(tmp_path, tmp_path)).check()
