"""What a release publishes, without its wheel (tests/functional/test_wheel.py)."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
import release

from support.paths import ROOT

DIGEST = "ab" * 32


def test_an_archive_is_the_same_whenever_it_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"run": b"#!/bin/sh\n", "LICENSE": b"text"}
    packed = release.packed(files)
    monkeypatch.setattr("time.time", lambda: 1.0)
    assert release.packed(dict(reversed(files.items()))) == packed
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        assert [(each.name, each.mode, each.uid, each.uname) for each in archive] == [
            ("LICENSE", 0o644, 0, ""),
            ("run", 0o755, 0, ""),
        ]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    with tarfile.open(fileobj=io.BytesIO(release.packed(files))) as archive:
        assert {each.mtime for each in archive} == {1700000000}


def test_constraints_are_the_versions_of_the_lock_file() -> None:
    lock = "a-b==1.0 \\\n    --hash=sha256:1==2\n    # via c==3\nd.e==2!1.0+x ; python_version < '4'\n"
    assert release.constraints(lock) == "a-b==1.0\nd.e==2!1.0+x\n"
    assert "pydantic==" in release.constraints((ROOT / "requirements.lock").read_text())


def test_the_manifest_satisfies_krew() -> None:
    """The rules of krew's `internal/index/validation`."""
    found = release.manifest("0.2.0", "https://example.org/x.tar.gz", DIGEST)
    assert (found["apiVersion"], found["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert found["metadata"]["name"] == "stackwright"
    assert found["spec"]["version"] == "v0.2.0"
    assert "\n" not in found["spec"]["shortDescription"]
    (platform,) = found["spec"]["platforms"]
    assert (platform["uri"], platform["sha256"]) == ("https://example.org/x.tar.gz", DIGEST)
    assert platform["bin"] == "kubectl-stackwright"
    assert platform["selector"] == {"matchLabels": {"os": "linux"}}
    with pytest.raises(ValueError, match=r"0\.2\.0rc1: krew takes versions such as 0\.2\.0"):
        release.manifest("0.2.0rc1", "https://example.org/x.tar.gz", DIGEST)


def test_the_completions_of_each_shell_call_the_program() -> None:
    scripts = {shell: release.completion(shell) for shell in release.COMPLETIONS}
    assert scripts["zsh"].startswith("#compdef stackwright\n")
    assert "complete -o default -F _stackwright_completion stackwright" in scripts["bash"]
    assert scripts["fish"].startswith("complete --command stackwright ")


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The launcher where krew puts it: a link in one folder, its archive in another, with a space in its name."""
    store, programs = tmp_path / "the store", tmp_path / "bin"
    store.mkdir()
    programs.mkdir()
    launcher = store / release.LAUNCHER.name
    launcher.write_bytes(release.LAUNCHER.read_bytes())
    launcher.chmod(0o755)
    for name in ("stackwright-0.2.0-py3-none-any.whl", "constraints.txt"):
        (store / name).touch()
    (programs / launcher.name).symlink_to(launcher)
    for name in ("sh", "dirname", "readlink"):
        (programs / name).symlink_to(Path("/usr/bin", name).resolve())
    return programs / launcher.name


def launched(plugin: Path, *installed: str) -> subprocess.CompletedProcess[str]:
    for name in installed:
        program = plugin.parent / name
        program.write_text('#!/bin/sh\necho "${0##*/}"; for word; do echo "$word"; done\n')
        program.chmod(0o755)
    env = {**os.environ, "PATH": str(plugin.parent)}
    return subprocess.run([plugin, "plan", "-f", "a b.yaml"], env=env, capture_output=True, text=True)


@pytest.mark.parametrize("installed", [("uv",), ("uv", "pipx")])
def test_the_plugin_runs_its_wheel_by_uv(plugin: Path, installed: tuple[str, ...]) -> None:
    store = plugin.resolve().parent
    words = launched(plugin, *installed).stdout.splitlines()
    assert words[:3] == ["uv", "tool", "run"]
    assert words[words.index("--constraints") + 1] == f"{store}/constraints.txt"
    assert words[words.index("--from") + 1] == f"{store}/stackwright-0.2.0-py3-none-any.whl"
    assert words[-4:] == ["kubectl-stackwright", "plan", "-f", "a b.yaml"]


def test_the_plugin_runs_its_wheel_by_pipx(plugin: Path) -> None:
    store = plugin.resolve().parent
    words = launched(plugin, "pipx").stdout.splitlines()
    assert words[:2] == ["pipx", "run"]
    assert words[words.index("--pip-args") + 1] == f"--constraint '{store}/constraints.txt'"
    assert words[words.index("--spec") + 1] == f"{store}/stackwright-0.2.0-py3-none-any.whl"
    assert words[-4:] == ["kubectl-stackwright", "plan", "-f", "a b.yaml"]


def test_the_plugin_names_what_is_missing(plugin: Path) -> None:
    done = launched(plugin)
    assert done.returncode == 1
    assert done.stderr == (
        "kubectl stackwright: uv or pipx is required, with Python 3.11 or later; install one of them\n"
    )
