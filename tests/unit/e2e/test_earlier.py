"""The earlier commit from whose operator the pack `foreign` upgrades."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from foreign import earlier


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A project whose first commit has another text than its files; that commit."""
    project, author = tmp_path / "project", ("-c", "user.name=a", "-c", "user.email=a@example.org")
    project.mkdir()

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", project, *author, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "--quiet")
    for text in ("earlier", "now"):
        (project / "file").write_text(text)
        git("add", "file")
        git("commit", "--quiet", "--message", text)
    monkeypatch.setattr(earlier, "ROOT", project)
    return git("rev-parse", "HEAD^")


def test_the_files_are_those_of_the_commit(history: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier, "COMMIT", history)
    found = earlier.tree(tmp_path)
    assert found and (found / "file").read_text() == "earlier"


def test_a_whole_history_without_the_commit_is_a_failure(history: str, tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=f"The history lacks the commit {earlier.COMMIT}"):
        earlier.tree(tmp_path)


def test_a_shallow_clone_has_none_and_says_so(
    history: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", earlier.ROOT.as_uri(), shallow], check=True)
    monkeypatch.setattr(earlier, "ROOT", shallow)
    monkeypatch.setattr(earlier, "COMMIT", history)
    assert earlier.tree(tmp_path) is None
    assert f"The history lacks the commit {history}" in capsys.readouterr().out
