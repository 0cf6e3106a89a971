"""Stored runs: one file per bench with its last run; docs/reference/benchmarks.md is generated from them.

A run records its command, date and commit, and whether the checkout had uncommitted changes. A peer is measured in the
same run, so its samples are in the same file.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.figure import Figure
from bench.options import NAMED, QUICK
from bench.process import ROOT
from bench.table import number

RUNS = ROOT / "bench/runs"
PAGE = ROOT / "docs/reference/benchmarks.md"
BEGIN, END = "<!-- Written by `make bench-docs`; do not edit. -->", "<!-- End of what is written. -->"
HEAD = """\
| figure | goal | unit | n | median | p95 | peer | n | median | ratio |
|---|---|---|--:|--:|--:|---|--:|--:|--:|
"""
MEASURED = ("src", "bench/*.py", "charts", "images", "examples", "requirements.lock")
"""Paths whose changes may change a figure."""


def save(bench: str, figures: Sequence[Figure], took: float, folder: Path = RUNS) -> Path:
    run = {
        "bench": bench,
        "command": f"python -m bench {shlex.join(sys.argv[1:])}",
        "commit": _git("rev-parse", "--short=12", "HEAD"),
        "changed": bool(_git("status", "--porcelain", "--", *MEASURED)),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "seconds": round(took),
        "machine": {
            "cores": os.cpu_count(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "python": platform.python_version(),
        },
        "figures": [_rounded(figure.as_dict(bench)) for figure in figures],
    }
    folder.mkdir(exist_ok=True)
    path = folder / f"{bench}.json"
    path.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n")
    return path


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout.strip()


def _rounded(value: Any) -> Any:
    """Four significant digits, to keep the files small; no figure is more precise."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


def load(folder: Path = RUNS) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def page(text: str, runs: Mapping[str, Mapping[str, Any]], benches: Sequence[str]) -> str:
    """The page with new figures; text outside the markers is kept."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    sections = [_section(runs[name]) for name in benches if name in runs]
    without = ", ".join(f"`{name}`" for name in benches if name not in runs)
    gaps = [f"No run is stored of: {without}.\n"] if without else []
    return f"{before}{BEGIN}\n\n" + "\n".join([*gaps, *sections]) + f"\n{END}{after}"


def _section(run: Mapping[str, Any]) -> str:
    machine = run["machine"]
    changed = " with changes" if run["changed"] else ""
    where = f"{machine['cores']} cores, {machine['memory_gib']} GiB, Python {machine['python']}"
    head = f"### `{run['bench']}`\n\n`{run['command']}`, {run['date']}, commit {run['commit']}{changed}; {where}.\n\n"
    notes = [f"- {each['of']}: {each['note']}\n" for each in run["figures"] if each["note"]]
    return head + HEAD + "".join(_row(each) for each in run["figures"]) + ("\n" if notes else "") + "".join(notes)


def _row(figure: Mapping[str, Any]) -> str:
    sign = {True: " ✓", False: " ✗", None: ""}[figure["met"]]
    ratio = "" if figure["ratio"] is None else f"{figure['ratio']:.1f}x"
    cells = (
        figure["of"],
        f"{figure['goal']}{sign}" if figure["goal"] else "",
        figure["unit"],
        str(figure["n"]),
        number(figure["median"]),
        _number(figure["p95"]),
        figure["peer"] or "",
        str(figure["peer_n"] or ""),
        _number(figure["peer_median"]),
        ratio,
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _number(value: float | None) -> str:
    return "" if value is None else number(value)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(), load(), (*QUICK, *NAMED)))
