"""Packs of end-to-end tests: their declarations, their last passes, and the selection for a run.

A pack is a folder of tests/e2e/packs with a pack.toml: `minutes` of the run once its cloud is ready, the required
`cloud`, and `paths`, globs of the sources it covers. `also` are tests elsewhere that it runs because they are too slow
for every run; `leaves` is the cloud after the pack, if it differs; `because` is why it cannot be cut, if it takes more
than five minutes. tests/e2e/record.json holds the last run of each pack, and of the core and its end, which are in each
run and never chosen. This module starts no process.
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
MOST_MINUTES = 5
MOST_PACKS = 2  # in one `make test`
LIMIT_MINUTES = 60  # of one `make test`; it begins no pack that would end later
STARTS = {"storage": 0, "small": 4, "none": 0, "full": 8, "bare": 3, "oldest": 10, "ovn": 8}
"""Cloud → minutes until it is ready, in the order of a run. The core runs on the first one and leaves none behind."""
CLOUDS = tuple(STARTS)
BUILD_MINUTES = 25  # to compile another version of Kubernetes
MOST_COST = 20  # minutes of a pack and its cloud, in one `make test`
MOST_COMMITS = 40  # since a pack passed
SPARE_RUNS = 5  # which may omit their packs or not be recorded, without making a pack overdue
NEVER = "never run"


@dataclass(frozen=True)
class Pack:
    """minutes without the start of its cloud; leaves is empty if the cloud stays the same"""

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
    """The last run of a pack; `passed` is the commit of the last passed run, empty if none passed."""

    result: str = NEVER
    commit: str = ""
    date: str = ""
    minutes: float = 0.0
    passed: str = ""


Record = Mapping[str, Run]
CORE_STEP, CORE_END_STEP = CORE_STEPS = (Pack("core", 25, "storage", ()), Pack("core_end", 5, "storage", ()))
"""The core in two parts, between which packs run on its cloud."""


def parse(name: str, text: str) -> Pack:
    """Raises ValueError, which names the field."""
    found = tomllib.loads(text)
    if set(found) - {"also", "leaves", "because"} != {"minutes", "cloud", "paths"}:
        raise ValueError(
            f"{name}/pack.toml: has {sorted(found)}; it takes minutes, cloud, paths, also, leaves, because"
        )
    minutes, cloud, paths, because = found["minutes"], found["cloud"], found["paths"], found.get("because", "")
    if not isinstance(because, str):
        raise ValueError(f"{name}/pack.toml: because takes a text")
    if not isinstance(minutes, int | float) or minutes <= 0 or (minutes > MOST_MINUTES and not because.strip()):
        takes = f"a number up to {MOST_MINUTES}, or a larger one if `because` says why"
        raise ValueError(f"{name}/pack.toml: minutes is {minutes}; it takes {takes}")
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
    """The record from its JSON."""
    return {name: Run(**entry) for name, entry in json.loads(text).items()}


def write(record: Record) -> str:
    return json.dumps({name: vars(record[name]) for name in sorted(record)}, indent=2) + "\n"


def in_order(packs: Iterable[Pack]) -> list[Pack]:
    """Packs grouped by cloud, so that each cloud is started once; packs that leave another cloud come last."""
    return sorted(packs, key=lambda pack: (CLOUDS.index(pack.cloud), pack.leaves, pack.name))


def selects(pack: Pack, changed: Iterable[str]) -> bool:
    """Whether a changed path belongs to the sources of the pack or to the pack itself."""
    own = pack.folder.relative_to(ROOT).as_posix()
    globs = [re.compile(_pattern(glob), re.DOTALL) for glob in (*pack.paths, f"{own}/**")]
    return any(glob.fullmatch(path) for path in changed for glob in globs)


def _pattern(glob: str) -> str:
    """`**` matches any path, `*` anything within a name."""
    parts = re.split(r"(\*\*|\*)", glob)
    return "".join({"**": ".*", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts)


def choose(
    packs: list[Pack],
    record: Record,
    changed: Mapping[str, Iterable[str]],
    ages: Mapping[str, int | None],
    count: int,
) -> list[Pack]:
    """The packs of one `make test`: at most two. First those that failed or never ran, then those that are due, then
    those whose paths changed; the oldest first within each group. Without any, the next in rotation.

    A pack is due if it would be overdue before its turn when each run takes the oldest packs, with SPARE_RUNS to spare:
    many packs of one age are thus due earlier than one pack alone. Packs older than a due one are due, too.

    changed  pack → paths changed since its record
    ages     pack → commits since it passed, None if unknown
    count    number of commits of the main line
    """
    known = [age for pack in packs if (age := ages.get(pack.name)) is not None]

    def has_late_turn(age: int) -> bool:
        as_old = sum(other >= age for other in known)
        return age + as_old / MOST_PACKS + SPARE_RUNS > MOST_COMMITS

    due = min(filter(has_late_turn, known), default=MOST_COMMITS)

    def rank(pack: Pack) -> int | None:
        age = ages.get(pack.name)
        if record.get(pack.name, Run()).result != "passed":
            return 0
        if age is None or age >= due:
            return 1
        return 2 if selects(pack, changed.get(pack.name, ())) else None

    ranked = [
        (found, -(ages.get(pack.name) or 0), pack.name, pack) for pack in packs if (found := rank(pack)) is not None
    ]
    return [pack for *_, pack in sorted(ranked)[:MOST_PACKS]] or packs[count % len(packs) :][:1]


def cost(pack: Pack, is_built: bool) -> float:
    """Minutes of a pack, including the start of its cloud; `is_built`: the oldest supported Kubernetes is compiled."""
    builds = BUILD_MINUTES if pack.cloud == "oldest" and not is_built else 0
    return pack.minutes + STARTS[pack.cloud] + builds


def overdue(ages: Mapping[str, int | None]) -> list[str]:
    """Packs whose last pass is too many commits ago."""
    return sorted(name for name, age in ages.items() if age is not None and age > MOST_COMMITS)


def is_late(pack: Pack, minutes: float) -> bool:
    """Whether a run took longer than declared, as the record shows it: the pack must be cut or declare more."""
    return round(minutes, 1) > pack.minutes


def table(packs: Iterable[Pack], record: Record, ages: Mapping[str, int | None]) -> str:
    """The record as plain text. LATE: the last run passed and took longer than declared."""
    lines = [f"{'pack':24}{'result':12}{'minutes':>8}{'declared':>10}{'commits ago':>13}  last passed at"]
    for pack in packs:
        run, age = record.get(pack.name, Run()), ages.get(pack.name)
        minutes = f"{run.minutes:.1f}" if run.result != NEVER else "-"
        ago = "unknown" if age is None else str(age)
        late = "   LATE" if run.result == "passed" and is_late(pack, run.minutes) else ""
        figures = f"{minutes:>8}{pack.minutes:>10g}{ago:>13}"
        lines.append(f"{pack.name:24}{run.result:12}{figures}  {run.passed[:12] or '-':12}{late}".rstrip())
    return "\n".join(lines)


def durations(suites: Mapping[str, Iterable[Mapping[str, Any]]], slowest: int = 25) -> str:
    """Sums of junit's test cases (`name`, `time` in seconds) by tier, then the slowest tests."""
    cases = [(float(case["time"]), tier, str(case["name"])) for tier, found in suites.items() for case in found]
    sums = {tier: sum(time for time, other, _ in cases if other == tier) for tier in suites}
    lines = [f"{seconds / 60:8.1f} min  {tier}" for tier, seconds in sorted(sums.items(), key=lambda item: -item[1])]
    lines += [f"{sum(sums.values()) / 60:8.1f} min  in all", ""]
    lines += [f"{seconds:8.1f} s    {tier}: {name}" for seconds, tier, name in sorted(cases, reverse=True)[:slowest]]
    return "\n".join(lines)
