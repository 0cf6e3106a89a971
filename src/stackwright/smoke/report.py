"""Results as JUnit XML, which every CI system reads, and as data. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from stackwright.smoke.run import FAILED, SKIPPED, Result

# Characters that XML 1.0 does not allow, not even escaped; console logs contain many.
UNSPEAKABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "stackwright smoke"


def is_good(results: Sequence[Result]) -> bool:
    return not any(result.outcome == FAILED for result in results)


def as_dict(results: Sequence[Result]) -> dict[str, Any]:
    return {
        "passed": is_good(results),
        "seconds": round(sum(result.seconds for result in results), 2),
        "checks": [result.as_dict() for result in results],
    }


def junit(results: Sequence[Result]) -> str:
    counts = {word: sum(result.outcome == word for result in results) for word in (FAILED, SKIPPED)}
    seconds = sum(result.seconds for result in results)
    head = f'tests="{len(results)}" failures="{counts[FAILED]}" errors="0" skipped="{counts[SKIPPED]}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuite name="{SUITE}" {head} time="{seconds:.3f}">')
    for result in results:
        lines += _case(result)
    return "\n".join([*lines, "</testsuite>", ""])


def _case(result: Result) -> list[str]:
    name, seconds = quoteattr(result.name), f"{result.seconds:.3f}"
    head = f'  <testcase classname="stackwright.smoke" name={name} time="{seconds}"'
    message = UNSPEAKABLE.sub("?", result.message)
    first = quoteattr(message.partition("\n")[0])
    if result.outcome == FAILED:
        return [f"{head}>", f"    <failure message={first}>{escape(message)}</failure>", "  </testcase>"]
    if result.outcome == SKIPPED:
        return [f"{head}>", f"    <skipped message={first}/>", "  </testcase>"]
    return (
        [f"{head}>", f"    <system-out>{escape(message)}</system-out>", "  </testcase>"] if message else [f"{head}/>"]
    )
