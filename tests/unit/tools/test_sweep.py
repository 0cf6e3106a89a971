"""Which cases of a sweep are tried."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import sweep
from sweep import commits, parts, sampled


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.delenv("SWEEP", raising=False)
    return lambda number: monkeypatch.setattr(sweep, "commits", lambda: number)


def test_consecutive_commits_try_all_cases_between_them(at) -> None:  # type: ignore[no-untyped-def]
    tried = []
    for number in range(700, 704):
        at(number)
        found = list(sampled(range(18)))
        assert found == list(sampled(range(18)))
        assert 4 <= len(found) <= 5
        tried += found
    assert sorted(tried) == list(range(18))


def test_a_full_sweep_tries_each_case(at, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    at(7)
    monkeypatch.setenv("SWEEP", "all")
    assert list(sampled(range(18))) == list(range(18))


def test_the_parts_of_a_full_sweep_try_each_case_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEP", "all")
    _, shares = parts(4).args
    found = [list(sampled(range(18), part=part)) for part in shares]
    assert [len(each) for each in found] == [5, 5, 4, 4]
    assert sorted(case for each in found for case in each) == list(range(18))
    assert parts(4).kwargs == {"ids": ["1of4", "2of4", "3of4", "4of4"]}


def test_a_sample_is_not_split(at) -> None:  # type: ignore[no-untyped-def]
    at(7)
    _, (part,) = parts(4).args
    assert list(sampled(range(18), part=part)) == [3, 7, 11, 15]


def test_without_git_a_sample_is_selected_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*args: object, **more: object) -> None:
        raise FileNotFoundError

    monkeypatch.delenv("SWEEP", raising=False)
    monkeypatch.setattr(subprocess, "run", missing)
    commits.cache_clear()
    try:
        assert list(sampled("abcdefgh", every=4)) == ["a", "e"]
    finally:
        commits.cache_clear()


def test_a_merge_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise consecutive commits of the main line would miss the cases between two of its numbers."""

    def git(*words: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "first")
    git("switch", "--quiet", "--create", "topic")
    for _ in range(3):
        git("commit", "--quiet", "--allow-empty", "--message", "topic")
    git("switch", "--quiet", "-")
    git("merge", "--quiet", "--no-ff", "--no-edit", "topic")
    monkeypatch.setattr(sweep, "__file__", str(tmp_path / "sweep.py"))
    commits.cache_clear()
    try:
        assert commits() == 2
    finally:
        commits.cache_clear()
