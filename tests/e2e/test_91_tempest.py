"""OpenStack's own integration tests: Tempest's smoke set, run in a pod against the public endpoints.

TEMPEST=all runs also what is left out because it takes long; TEMPEST=<regular expression> runs just those tests.
docs/reference/tempest.md says more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from full import FullCloud
from tempest.exclusions import load, patterns
from tempest.stage import Stage, staged

SMOKE = r"\[.*\bsmoke\b.*\]"
LEAST, ALL_LEAST = 50, 100
"""That must pass, of each run and of all; on one node some are skipped."""


@pytest.fixture(scope="module")
def stage(storage_cloud: FullCloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(storage_cloud, tmp_path_factory.mktemp("tempest")) as made:
        yield made


def test_the_smoke_set_of_tempest_passes_and_leaves_nothing_behind(stage: Stage) -> None:
    wanted = os.environ.get("TEMPEST", "")
    chosen = wanted if wanted not in ("", "all") else ""
    before = stage.inventory()
    report = stage.run(chosen or SMOKE, patterns(load(), slow_too=wanted != ""))
    print(report.text())
    keep(report.text())
    assert report.finished
    assert not report.of("failed"), report.text()
    least = 1 if chosen else ALL_LEAST if wanted else LEAST
    assert len(report.of("passed")) >= least, report.text()
    assert stage.inventory() == before


def keep(text: str) -> None:
    """Where TEMPEST_REPORT says."""
    if path := os.environ.get("TEMPEST_REPORT"):
        Path(path).write_text(f"{text}\n")
