"""Part of Tempest's smoke set runs in a pod against the public endpoints; it passes and leaves no resources.

TEMPEST=<regular expression> runs only those tests instead, including those excluded for their duration.
docs/reference/tempest.md has the details.
"""

from __future__ import annotations

import os
from pathlib import Path

from full import FullCloud

from tempest.exclusions import load, patterns
from tempest.inventory import differences
from tempest.stage import staged

# Accepted reasons of skipped tests: features that this cloud lacks. It has all others, so a missing service or
# extension is not accepted.
REASONS = (r"Less than 2 compute nodes, skipping multinode tests\.",)
MOST_SKIPPED = 0.02  # of all; one of 105 is skipped
SMOKE, ALL = r"\[.*\bsmoke\b.*\]", ""  # tags of tests


def run(cloud: FullCloud, folder: Path, part: str = "", least: int = 1, tags: str = SMOKE) -> None:
    """part  tests of the smoke set that are otherwise excluded for their duration; without it, all other tests

    least  number of tests that must pass; on one node some are skipped, only for REASONS
    tags   ALL: the part is of all tests, not of the smoke set
    """
    wanted = os.environ.get("TEMPEST", "")
    with staged(cloud, folder) as stage:
        before = stage.inventory()
        report = stage.run(wanted or part + tags, patterns(load(), slow_too=bool(wanted or part)))
        print(report.text())
        keep(report.text())
        assert report.finished
        assert not report.of("failed"), report.text()
        assert len(report.of("passed")) >= (1 if wanted else least), report.text()
        if not wanted:  # it may name tests outside the smoke set
            assert report.unexpected(REASONS) == [], report.text()
            assert len(report.of("skipped")) <= max(1, MOST_SKIPPED * len(report.results)), report.text()
        assert differences(before, stage.inventory()) == []


def keep(text: str) -> None:
    """Write the report to the path in TEMPEST_REPORT."""
    if path := os.environ.get("TEMPEST_REPORT"):
        Path(path).write_text(f"{text}\n")
