"""Run checks in order, with one status line each, and always clean up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from stackwright.smoke import leftovers
from stackwright.smoke.checks import Check
from stackwright.smoke.ports import Failed, Report
from stackwright.smoke.stage import Stage
from stackwright.smoke.tenant import CloudError

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
CLEANUP = Check("cleanup", "Clean up", lambda stage: "")
Phase = Callable[[str], AbstractContextManager[Report]]


@dataclass(frozen=True)
class Result:
    name: str
    title: str
    outcome: str
    seconds: float
    message: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "seconds": round(self.seconds, 2)}


Tell = Callable[[Result], None]


def run(stage: Stage, checks: Sequence[Check], phase: Phase, tell: Tell, *, keep: bool = False) -> list[Result]:
    """Results of all checks whose services the cloud has, and of the cleanup. An interrupt is raised again after it."""
    results: list[Result] = []
    try:
        for check in checks:
            if check.service and check.service not in stage.services:
                continue
            results.append(_one(stage, check, phase, results))
            tell(results[-1])
    finally:
        if stage.project is not None and not keep:
            results.append(_attempt(stage, CLEANUP, phase, _clean))
            tell(results[-1])
    return results


def _one(stage: Stage, check: Check, phase: Phase, before: Sequence[Result]) -> Result:
    passed = {result.name for result in before if result.outcome == PASSED}
    if lacking := [name for name in check.needs if name not in passed]:
        return Result(check.name, check.title, SKIPPED, 0.0, f"needs {', '.join(lacking)}")
    return _attempt(stage, check, phase, check.run)


def _attempt(stage: Stage, check: Check, phase: Phase, work: Callable[[Stage], str]) -> Result:
    start = stage.clock.now()
    try:
        with phase(check.title) as report, _reporting(stage, report):
            note = work(stage)
    except (Failed, CloudError) as error:
        return Result(check.name, check.title, FAILED, stage.clock.now() - start, str(error))
    return Result(check.name, check.title, PASSED, stage.clock.now() - start, note)


@contextmanager
def _reporting(stage: Stage, report: Report) -> Iterator[None]:
    before, stage.report = stage.report, report
    try:
        yield
    finally:
        stage.report = before


def _clean(stage: Stage) -> str:
    assert stage.project
    leftovers.remove(stage, stage.project)
    return ""
