"""Every end-to-end test belongs to the core or to one pack; a run takes the packs whose sources changed."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from random import Random

import packs
import pytest
from packs import Pack, Run

from support.paths import ROOT

E2E = ROOT / "tests/e2e"
NEEDS = {
    "storage": {"storage_cloud", "storage", "infra", "member", "raw", "booted", "writer", "writer_vm", "undisturbed"},
    "full": {"full_cloud", "heat_cloud", "vms", "pair"},
    "bare": {"bare_cluster"},
    "oldest": {"oldest_cloud"},
    "ovn": {"ovn_cloud"},
    "small": {"cloud"},
}
"""Cloud: the fixtures that start it."""
SOURCES = ("src", "charts", "images", "examples")
IGNORED = {"__pycache__", "__init__.py", "README.md"}
CORE_ONLY = (
    "src/stackwright/examine/**",
    "src/stackwright/smoke/**",
    "src/stackwright/assets.py",
    "src/stackwright/slots.py",
    "src/stackwright/adapters/openstack/deployed/public_api.py",
    "charts/keystoneclient/**",
    "images/**",
    "examples/cloud.yaml",
    "examples/identity.yaml",
    "examples/overrides.yaml",
    "examples/control-plane.yaml",
    "examples/production.yaml",
    "examples/gitops/**",
)
"""Sources that no pack is about: the core runs them in each `make test`, or unit and golden tests do."""
ONE = Pack("one", 1, "small", ("src/a/**",))
TWO = Pack("two", 1, "storage", ("src/b/*.py", "src/a/x.py"))
THREE = Pack("three", 1, "full", ("charts/*/values.yaml",))


def fixtures(folder: Path) -> set[str]:
    """Fixtures that its tests and its own fixtures use."""
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                marked = any("fixture" in ast.unparse(each) for each in node.decorator_list)
                if marked or node.name.startswith("test_"):
                    found |= {each.arg for each in node.args.args}
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("usefixtures"):
                found |= {each.value for each in node.args if isinstance(each, ast.Constant)}  # type: ignore[misc]
    return found


def test_every_end_to_end_test_belongs_to_the_core_or_to_one_pack() -> None:
    declared = {pack.folder for pack in packs.load() if not pack.also}
    elsewhere = [path for pack in packs.load() for path in pack.also]
    assert len(elsewhere) == len(set(elsewhere))
    assert all((ROOT / path).is_file() for path in elsewhere)
    homes = {path.parent for path in E2E.rglob("test_*.py")}
    assert homes == declared | {packs.CORE}


def test_the_functional_tests_that_rotate_belong_to_packs() -> None:
    """`make functional` leaves this folder out."""
    folder = "tests/functional/rotating"
    elsewhere = {path for pack in packs.load() for path in pack.also}
    assert elsewhere == {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).glob("test_*.py")}
    assert f"--ignore={folder} tests/functional\n" in (ROOT / "Makefile").read_text()


def test_every_pack_names_existing_paths() -> None:
    nothing = [(pack.name, glob) for pack in packs.load() for glob in pack.paths if not any(ROOT.glob(glob))]
    assert nothing == []


def test_every_source_belongs_to_a_pack_or_only_to_the_core() -> None:
    """A folder that is new belongs to one of both."""
    found = (path for source in SOURCES for path in (ROOT / source).rglob("*") if path.is_file())
    files = [path.relative_to(ROOT).as_posix() for path in found if not IGNORED & {*path.parts, path.name}]
    known = [*packs.load(), Pack("core", 1, "storage", CORE_ONLY)]
    assert len(files) > 500
    assert [path for path in files if not any(packs.selects(pack, [path]) for pack in known)] == []


@pytest.mark.parametrize("pack", packs.load(), ids=lambda pack: pack.name)
def test_a_pack_declares_the_cloud_that_its_tests_need(pack: Pack) -> None:
    asked = fixtures(pack.folder)
    needed = {cloud for cloud, names in NEEDS.items() if asked & names}
    assert pack.cloud in (needed or {"none"})
    assert needed <= {pack.cloud, pack.leaves}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('minutes = 6\ncloud = "small"\npaths = ["a"]', "up to 5"),
        ('minutes = 0\ncloud = "small"\npaths = ["a"]', "up to 5"),
        ('minutes = 6\ncloud = "small"\npaths = ["a"]\nbecause = " "', "if `because` says why"),
        ('minutes = 6\ncloud = "small"\npaths = ["a"]\nbecause = 1', "because takes a text"),
        ('minutes = 0\ncloud = "small"\npaths = ["a"]\nbecause = "x"', "up to 5"),
        ('minutes = 1\ncloud = "large"\npaths = ["a"]', "storage, small, none, full, bare"),
        ('minutes = 1\ncloud = "small"\npaths = []', "list of globs"),
        ('minutes = 1\ncloud = "small"\npaths = ["a"]\nalso = "tests/x.py"', "list of files"),
        ('minutes = 1\ncloud = "small"\npaths = ["a"]\nleaves = "large"', "leaves is 'large'"),
        ('minutes = 1\ncloud = "small"', "takes minutes, cloud, paths, also"),
        ('minutes = 1\ncloud = "small"\npaths = ["a"]\nmore = 1', "takes minutes, cloud, paths, also"),
    ],
)
def test_a_wrong_declaration_is_named(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        packs.parse("one", text)


@pytest.mark.parametrize("path", sorted(packs.PACKS.glob("*/pack.toml")), ids=lambda path: path.parent.name)
def test_a_pack_that_declares_more_than_five_minutes_has_a_reason_and_no_other(path: Path) -> None:
    declared = tomllib.loads(path.read_text())
    reason = declared.get("because", "")
    assert bool(reason) is (declared["minutes"] > packs.MOST_MINUTES)
    assert not reason or len(reason.split()) > 5


def test_a_pack_may_take_longer_if_it_says_why() -> None:
    assert packs.parse("one", 'minutes = 9\ncloud = "small"\npaths = ["a"]\nbecause = "x"').minutes == 9


PASSED = {"one": Run("passed"), "two": Run("passed"), "three": Run("passed")}
YOUNG = {"one": 3, "two": 12, "three": 7}
ALL = [ONE, TWO, THREE]


def chosen(
    changed: dict[str, list[str]], ages: dict[str, int | None], record: packs.Record = PASSED, count: int = 0
) -> list[str]:
    return [pack.name for pack in packs.choose(ALL, record, changed, ages, count)]


def test_a_run_has_at_most_two_packs_with_changed_sources_oldest_first() -> None:
    changed = {"one": ["src/a/deep/y.py"], "two": ["src/a/x.py"], "three": ["charts/nova/values.yaml"]}
    assert chosen(changed, {**YOUNG}) == ["two", "three"]


def test_without_a_change_packs_rotate_by_the_count_of_commits() -> None:
    turns = [chosen({"one": ["docs/x.md"]}, {**YOUNG}, count=count) for count in range(4)]
    assert turns == [["one"], ["two"], ["three"], ["one"]]


def test_a_nearly_overdue_pack_runs_before_those_with_changed_sources() -> None:
    """Otherwise changes elsewhere would displace it until `make test` fails because it never ran."""
    changed = {"one": ["src/a/y.py"], "two": ["src/b/x.py"]}
    assert chosen(changed, {"one": 3, "two": 12, "three": 35}) == ["three", "two"]
    assert chosen(changed, {"one": 3, "two": 12, "three": 34}) == ["two", "one"]
    assert chosen(changed, {"one": 34, "two": 34, "three": 34}) == ["one", "three"], "many of one age are due earlier"
    assert chosen(changed, {"one": 3, "two": 12, "three": None}) == ["three", "two"], "not known to be young"


def test_the_oldest_packs_run_first_if_a_younger_one_would_wait_too_long() -> None:
    many = [Pack(f"p{number:02}", 1, "small", ("src/a",)) for number in range(50)]
    ages: dict[str, int | None] = {pack.name: 21 if pack.name > "p45" else 12 for pack in many}
    taken = packs.choose(many, {pack.name: Run("passed") for pack in many}, {}, ages, 0)
    assert [pack.name for pack in taken] == ["p46", "p47"]


EQUAL = [10] * 45
MIXED = [[Random(seed).randint(0, 10) for _ in EQUAL] for seed in range(4)]
ENDS = [[10] * 44 + [0], [0] * 44 + [10], [10] * 23 + [0] * 22]


@pytest.mark.parametrize("start", [EQUAL, *MIXED, *ENDS], ids=range(8))
@pytest.mark.parametrize("lost", [0, 5, 12, 20, 30])
def test_no_pack_becomes_overdue_whatever_changed_if_each_run_takes_two(start: list[int], lost: int) -> None:
    """Changes always select the youngest packs; SPARE_RUNS runs from the one with this number on renew no pack."""
    many = [Pack(f"p{number:02}", 1, "small", ("src/a",)) for number in range(len(start))]
    record = {pack.name: Run("passed") for pack in many}
    ages: dict[str, int | None] = {pack.name: age for pack, age in zip(many, start, strict=True)}
    for count in range(200):
        young = sorted(ages, key=lambda name: (ages[name] or 0, name))[:2]
        taken = packs.choose(many, record, {name: ["src/a"] for name in young}, ages, count)
        assert len(taken) == packs.MOST_PACKS
        if not (lost and lost <= count < lost + packs.SPARE_RUNS):
            ages |= {pack.name: 0 for pack in taken}
        assert packs.overdue(ages) == [], count
        ages = {name: (age or 0) + 1 for name, age in ages.items()}


def test_a_pack_costs_its_minutes_and_those_of_its_cloud() -> None:
    oldest = Pack("oldest", 2, "oldest", ("a",))
    assert [packs.cost(pack, is_built) for pack in (THREE, oldest) for is_built in (True, False)] == [9, 9, 12, 37]


@pytest.mark.parametrize("record", [{**PASSED, "one": Run("failed")}, {"two": Run("passed"), "three": Run("passed")}])
def test_a_pack_that_failed_or_never_ran_runs_first(record: packs.Record) -> None:
    assert chosen({"three": ["charts/nova/values.yaml"]}, {"one": 0, "two": 40, "three": 9}, record) == ["one", "two"]


def test_a_star_stays_within_a_folder_and_a_pack_selects_itself() -> None:
    assert packs.selects(TWO, ["src/b/x.py"])
    assert not packs.selects(TWO, ["src/b/deep/x.py"])
    assert not packs.selects(THREE, ["charts/nova/templates/values.yaml"])
    assert packs.selects(THREE, ["tests/e2e/packs/three/test_three.py"])


def test_a_pack_that_passed_more_than_40_commits_ago_is_overdue() -> None:
    assert packs.overdue({"one": 40, "two": 41, "three": None}) == ["two"]


@pytest.mark.parametrize(("minutes", "late"), [(1.0, False), (1.04, False), (1.1, True)])
def test_a_pack_is_late_if_it_takes_more_than_its_declared_minutes(minutes: float, late: bool) -> None:
    assert packs.is_late(ONE, minutes) is late


def test_packs_of_one_cloud_run_after_each_other() -> None:
    last = Pack("conversion", 1, "full", ("a",), leaves="storage")
    assert [pack.name for pack in packs.in_order([last, THREE, ONE, TWO])] == ["two", "one", "three", "conversion"]


def test_the_record_is_read_as_it_was_written_and_names_packs_and_the_core_only() -> None:
    record = {"one": Run("failed", "abc", "2026-01-01T00:00:00Z", 1.5, "def"), "two": Run()}
    assert packs.read(packs.write(record)) == record
    assert set(packs.read(packs.RECORD.read_text())) <= {pack.name for pack in [*packs.load(), *packs.CORE_STEPS]}


def test_no_pack_is_named_like_the_core() -> None:
    assert not {pack.name for pack in packs.load()} & {pack.name for pack in packs.CORE_STEPS}


def test_the_table_shows_a_pack_that_never_ran() -> None:
    told = packs.table([ONE, TWO], {"one": Run("passed", "a" * 40, "", 1.25, "a" * 40)}, {"one": 3, "two": None})
    one, two = told.splitlines()[1:]
    assert one.split() == ["one", "passed", "1.2", "1", "3", "a" * 12, "LATE"]
    assert two.split() == ["two", "never", "run", "-", "1", "unknown", "-"]


@pytest.mark.parametrize(
    ("run", "marked"),
    [(Run("passed", minutes=1.0), False), (Run("passed", minutes=1.1), True), (Run("failed", minutes=9.0), False)],
)
def test_the_table_marks_a_pack_whose_last_run_passed_and_took_longer_than_declared(run: Run, marked: bool) -> None:
    """A run that failed has waited for a limit."""
    head, row = packs.table([ONE], {"one": run}, {"one": 3}).splitlines()
    assert head.split()[:4] == ["pack", "result", "minutes", "declared"]
    assert ("LATE" in row) is marked


def test_durations_are_summed_by_tier_with_the_slowest_first() -> None:
    cases = {
        "core": [{"name": "slow", "time": "90"}, {"name": "fast", "time": "30"}],
        "unit": [{"name": "x", "time": "60"}],
    }
    told = packs.durations(cases, slowest=2)
    assert [line.split() for line in told.splitlines() if line] == [
        ["2.0", "min", "core"],
        ["1.0", "min", "unit"],
        ["3.0", "min", "in", "all"],
        ["90.0", "s", "core:", "slow"],
        ["60.0", "s", "unit:", "x"],
    ]
