"""Which cases of a sweep are tried."""

from __future__ import annotations

import subprocess

import pytest

import sweep
from sweep import commits, sampled


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
