"""Packs of end-to-end tests: what they declare, when each last passed, and which ones a run takes.

A pack is a folder of tests/e2e/packs with a pack.toml: `minutes` it takes once its cloud is there, the `cloud` that it
needs, and `paths`, globs of the sources that it is about. tests/e2e/record.json holds the last run of each.
`also` are tests elsewhere that it runs, being too long for each run. `leaves` is the cloud that it ends with, if it is
another. No process is started here.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CORE = ROOT / "tests/e2e/core"
PACKS = ROOT / "tests/e2e/packs"
RECORD = ROOT / "tests/e2e/record.json"
CLOUDS = ("storage", "small", "none", "full")  # in the order in which one run has them: the core leaves none behind
MOST_MINUTES = 5
MOST_PACKS = 2  # of one `make test`
MOST_COMMITS = 40  # since a pack passed
DUE_COMMITS = 30  # since a pack passed: from then on a run takes it, whatever changed
LATE = 1.5  # times the minutes that a pack declares
NEVER = "never run"


@dataclass(frozen=True)
class Pack:
    """minutes without those in which its cloud is started; leaves is empty for the cloud that it was given"""

    name: str
    minutes: float
    cloud: str
    paths: tuple[str, ...]
    also: tuple[str, ...] = ()
    leaves: str = ""

    @property
    def folder(self) -> Path:
        return PACKS / self.name


@dataclass(frozen=True)
class Run:
    """The last run of a pack; `passed` is the commit of the last one that passed, empty if none did."""

    result: str = NEVER
    commit: str = ""
    date: str = ""
    minutes: float = 0.0
    passed: str = ""


Record = Mapping[str, Run]


def parse(name: str, text: str) -> Pack:
    """Raises ValueError that names the field."""
    found = tomllib.loads(text)
    if set(found) - {"also", "leaves"} != {"minutes", "cloud", "paths"}:
        raise ValueError(f"{name}/pack.toml: has {sorted(found)}; it takes minutes, cloud, paths, also, leaves")
    minutes, cloud, paths = found["minutes"], found["cloud"], found["paths"]
    if not isinstance(minutes, int | float) or not 0 < minutes <= MOST_MINUTES:
        raise ValueError(f"{name}/pack.toml: minutes is {minutes}; it takes a number up to {MOST_MINUTES}")
    if cloud not in CLOUDS:
        raise ValueError(f"{name}/pack.toml: cloud is {cloud!r}; it is one of {', '.join(CLOUDS)}")
    if not _texts(paths) or not paths:
        raise ValueError(f"{name}/pack.toml: paths takes a list of globs")
    if not _texts(also := found.get("also", [])):
        raise ValueError(f"{name}/pack.toml: also takes a list of files with tests")
    if (leaves := found.get("leaves", "")) not in ("", *CLOUDS):
        raise ValueError(f"{name}/pack.toml: leaves is {leaves!r}; it is one of {', '.join(CLOUDS)}")
    return Pack(name, float(minutes), cloud, tuple(paths), tuple(also), leaves)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def load() -> list[Pack]:
    return [parse(path.parent.name, path.read_text()) for path in sorted(PACKS.glob("*/pack.toml"))]


def read(text: str) -> dict[str, Run]:
    """The record, of its JSON."""
    return {name: Run(**entry) for name, entry in json.loads(text).items()}


def write(record: Record) -> str:
    return json.dumps({name: vars(record[name]) for name in sorted(record)}, indent=2) + "\n"


def in_order(packs: Iterable[Pack]) -> list[Pack]:
    """Those of one cloud after each other, so that it is started once; those that leave another at the end."""
    return sorted(packs, key=lambda pack: (CLOUDS.index(pack.cloud), pack.leaves, pack.name))


def selects(pack: Pack, changed: Iterable[str]) -> bool:
    """Whether a changed path is one that the pack is about, or the pack itself."""
    own = pack.folder.relative_to(ROOT).as_posix()
    globs = [re.compile(_pattern(glob)) for glob in (*pack.paths, f"{own}/**")]
    return any(glob.fullmatch(path) for path in changed for glob in globs)


def _pattern(glob: str) -> str:
    """`**` is any path, `*` anything within a name."""
    parts = re.split(r"(\*\*|\*)", glob)
    return "".join({"**": ".*", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts)


def choose(
    packs: list[Pack],
    record: Record,
    changed: Mapping[str, Iterable[str]],
    ages: Mapping[str, int | None],
    count: int,
) -> list[Pack]:
    """The packs of one `make test`: at most two. First those that failed or never ran, then those that are nearly
    overdue, then those whose paths changed; the oldest first within each. Without any, the next in rotation.

    `changed`: pack → paths that changed since its record. `ages`: pack → commits since it passed, None if unknown.
    `count`: of commits of the history.
    """

    def rank(pack: Pack) -> int | None:
        age = ages.get(pack.name)
        if record.get(pack.name, Run()).result != "passed":
            return 0
        if age is None or age > DUE_COMMITS:
            return 1
        return 2 if selects(pack, changed.get(pack.name, ())) else None

    ranked = [
        (found, -(ages.get(pack.name) or 0), pack.name, pack) for pack in packs if (found := rank(pack)) is not None
    ]
    return [pack for *_, pack in sorted(ranked)[:MOST_PACKS]] or packs[count % len(packs) :][:1]


def overdue(ages: Mapping[str, int | None]) -> list[str]:
    """Packs that passed too many commits ago."""
    return sorted(name for name, age in ages.items() if age is not None and age > MOST_COMMITS)


def is_late(pack: Pack, minutes: float) -> bool:
    """Whether a run took so much longer than declared that the pack must be cut, or declare more."""
    return minutes > LATE * pack.minutes


def table(packs: Iterable[Pack], record: Record, ages: Mapping[str, int | None]) -> str:
    """The record for people."""
    lines = [f"{'pack':24}{'result':12}{'minutes':>8}{'commits ago':>13}  last passed at"]
    for pack in packs:
        run, age = record.get(pack.name, Run()), ages.get(pack.name)
        minutes = f"{run.minutes:.1f}" if run.result != NEVER else "-"
        ago = "unknown" if age is None else str(age)
        lines.append(f"{pack.name:24}{run.result:12}{minutes:>8}{ago:>13}  {run.passed[:12] or '-'}")
    return "\n".join(lines)


def durations(suites: Mapping[str, Iterable[Mapping[str, Any]]], slowest: int = 25) -> str:
    """Of junit's test cases (`name`, `time` in seconds) by tier: sums, then the slowest tests."""
    cases = [(float(case["time"]), tier, str(case["name"])) for tier, found in suites.items() for case in found]
    sums = {tier: sum(time for time, other, _ in cases if other == tier) for tier in suites}
    lines = [f"{seconds / 60:8.1f} min  {tier}" for tier, seconds in sorted(sums.items(), key=lambda item: -item[1])]
    lines += [f"{sum(sums.values()) / 60:8.1f} min  in all", ""]
    lines += [f"{seconds:8.1f} s    {tier}: {name}" for seconds, tier, name in sorted(cases, reverse=True)[:slowest]]
    return "\n".join(lines)
