"""The judgments of the end-to-end tests: lost pings, a missing browser."""

from __future__ import annotations

from pathlib import Path

import browser
import pytest
from faults.restarts import MOST_LOST, SWITCH, Attempt, outages

QUIET: list[Attempt] = [(0, 0.2)]


@pytest.mark.parametrize(
    ("attempts", "told"),
    [
        ([(0, 0.2)], {}),
        ([(1, 2.2), (0, 0.2)], {}),
        ([(1, 2.2), (1, 2.2)], {"daemonset/libvirt": [1, 1]}),
        ([(2, 4.2)], {"daemonset/libvirt": [2]}),
    ],
    ids=str,
)
def test_one_lost_ping_is_chance_if_the_second_attempt_loses_none(
    attempts: list[Attempt], told: dict[str, list[int]]
) -> None:
    assert outages({"daemonset/libvirt": attempts, "deployment/keystone-api": QUIET}) == told


def test_lost_pings_of_all_attempts_are_bounded() -> None:
    once: list[Attempt] = [(1, 2.2), (0, 0.2)]
    seen = {f"deployment/{number}": once for number in range(MOST_LOST)}
    assert outages(seen | {"deployment/quiet": QUIET}) == {}
    seen |= {"deployment/more": once}
    assert outages(seen | {"deployment/quiet": QUIET}) == {name: [1, 0] for name in seen}


def test_the_switch_is_judged_by_its_gap() -> None:
    assert outages({f"daemonset/{SWITCH}": [(40, 8.0)], "deployment/x": QUIET}) == {}


def test_a_missing_browser_is_reported_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("chromium", "certutil"):
        (tmp_path / name).touch(0o755)
    with pytest.raises(AssertionError, match=r"chromium-driver: run `python tests/e2e/browser\.py`"):
        browser.require()
    (tmp_path / "chromedriver").touch(0o755)
    browser.require()
