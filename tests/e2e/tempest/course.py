"""Part of Tempest's smoke set is run in a pod against the public endpoints; it passes and leaves nothing behind.

TEMPEST=<regular expression> runs just those tests instead, with those that are left out for their time.
docs/reference/tempest.md says more.
"""

from __future__ import annotations

import os
from pathlib import Path

from full import FullCloud

from tempest.exclusions import load, patterns
from tempest.stage import staged

# Why tests of the smoke set may be skipped: what this cloud is not. All else that they need is there, so a missing
# service or extension is no reason.
REASONS = (r"Less than 2 compute nodes, skipping multinode tests\.",)
MOST_SKIPPED = 0.02  # of all: of 105 one is
SMOKE = r"\[.*\bsmoke\b.*\]"


def run(cloud: FullCloud, folder: Path, part: str = "", least: int = 1) -> None:
    """`part`: of the smoke set, what is otherwise left out for its time; without it, all but that.

    `least`: how many must pass; on one node some are skipped, for REASONS only.
    """
    wanted = os.environ.get("TEMPEST", "")
    with staged(cloud, folder) as stage:
        before = stage.inventory()
        report = stage.run(wanted or part + SMOKE, patterns(load(), slow_too=bool(wanted or part)))
        print(report.text())
        keep(report.text())
        assert report.finished
        assert not report.of("failed"), report.text()
        assert len(report.of("passed")) >= (1 if wanted else least), report.text()
        if not wanted:  # it may name tests outside the smoke set
            assert report.unexpected(REASONS) == [], report.text()
            assert len(report.of("skipped")) <= max(1, MOST_SKIPPED * len(report.results)), report.text()
        assert stage.inventory() == before


def keep(text: str) -> None:
    """Where TEMPEST_REPORT says."""
    if path := os.environ.get("TEMPEST_REPORT"):
        Path(path).write_text(f"{text}\n")
