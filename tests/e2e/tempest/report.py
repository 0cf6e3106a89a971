"""The output of the pod → passed, failed and skipped tests, with reasons. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

MARK = "result: "
END = "tempest: done"
GOOD = {"success": "passed", "xfail": "passed", "skip": "skipped"}


@dataclass(frozen=True)
class Result:
    """text  traceback and end of the log of a failed test"""

    id: str
    outcome: str
    seconds: float
    reason: str = ""
    text: str = ""

    @property
    def name(self) -> str:
        """Without the tags that Tempest adds."""
        return self.id.partition("[")[0]


@dataclass(frozen=True)
class Report:
    results: tuple[Result, ...]
    finished: bool

    def of(self, outcome: str) -> list[Result]:
        return [result for result in self.results if result.outcome == outcome]

    @property
    def counts(self) -> Counter[str]:
        return Counter(result.outcome for result in self.results)

    @property
    def reasons(self) -> Counter[str]:
        """Reasons of the skipped tests, with their numbers."""
        return Counter(result.reason for result in self.of("skipped"))

    def unexpected(self, allowed: Iterable[str]) -> list[str]:
        """Reasons of skipped tests that none of these regular expressions matches completely."""
        patterns = [re.compile(pattern) for pattern in allowed]
        return sorted(reason for reason in self.reasons if not any(each.fullmatch(reason) for each in patterns))

    def text(self, slowest: int = 10) -> str:
        """Totals, every failure with its traceback, skipped tests with reasons, and the slowest ones."""
        counts = self.counts
        lines = [f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"]
        for result in self.of("failed"):
            lines += ["", f"✗ {result.name} ({result.seconds:.0f} s)", *_indented(result.text.splitlines())]
        lines += ["", *(f"{count:4} skipped: {reason}" for reason, count in self.reasons.most_common())]
        lines += ["", *(f"- {result.name}: {result.reason}" for result in self.of("skipped"))]
        ranked = sorted(self.results, key=lambda result: -result.seconds)[:slowest]
        lines += ["", *(f"{result.seconds:6.1f} s  {result.name}" for result in ranked)]
        return "\n".join(lines)


def parse(log: str) -> Report:
    found = [json.loads(line.removeprefix(MARK)) for line in log.splitlines() if line.startswith(MARK)]
    results = tuple(
        Result(each["id"], GOOD.get(each["status"], "failed"), each["seconds"], each["reason"], each["text"])
        for each in found
    )
    return Report(results, END in log.splitlines())


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]
