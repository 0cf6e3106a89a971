"""The run of all tests: its record of the history, and that it leaves no cloud starting."""

from __future__ import annotations

import contextlib
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import packs
import pytest
import suite
from packs import Pack, Run

from stackwright.core.kubernetes.versions import OLDEST_TEXT
from stackwright.local import tools
from stackwright.local.config import LocalCluster
from support.paths import ROOT

pytestmark = pytest.mark.usefixtures("interruptible")


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a pack and an empty record."""
    folder = tmp_path / "tree"
    record = folder / "tests/e2e/record.json"
    monkeypatch.setattr(suite, "ROOT", folder)
    monkeypatch.setattr(packs, "ROOT", folder)
    monkeypatch.setattr(packs, "RECORD", record)
    monkeypatch.setattr(packs, "PACKS", folder / "tests/e2e/packs")
    declared = folder / "tests/e2e/packs/one/pack.toml"
    declared.parent.mkdir(parents=True)
    declared.write_text('minutes = 1\ncloud = "none"\npaths = ["src/**"]\n')
    record.write_text("{}\n")
    git(folder, "init", "--quiet")
    commit(folder, "first")
    return folder


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(autouse=True)
def nothing_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are the same if the environment of their run selects tests."""
    for name in suite.SELECTING:
        monkeypatch.delenv(name, raising=False)


def commit(folder: Path, path: str) -> str:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("x")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", path)
    return git(folder, "rev-parse", "HEAD")


def one() -> Pack:
    (pack,) = packs.load()
    return pack


def passed(commit: str) -> None:
    packs.RECORD.write_text(packs.write({"one": Run("passed", commit, "2026-01-01T00:00:00Z", 1.0, commit)}))


def test_a_pack_that_never_passed_is_as_old_as_its_declaration(history: Path) -> None:
    assert suite.ages([one()], {}) == {"one": 0}
    for number in range(3):
        commit(history, f"docs/{number}")
    assert suite.ages([one()], {}) == {"one": 3}
    assert suite.report() == 0


def test_a_declaration_that_was_renamed_is_new_there(history: Path) -> None:
    git(history, "config", "diff.renames", "copies")
    git(history, "mv", "tests/e2e/packs/one", "tests/e2e/packs/two")
    git(history, "commit", "--quiet", "--message", "rename")
    commit(history, "docs/1")
    (renamed,) = packs.load()
    assert suite.ages([renamed], {}) == {"two": 1}


def test_changes_since_a_pack_passed_include_uncommitted_ones(history: Path) -> None:
    at = commit(history, "src/old.py")
    passed(at)
    commit(history, "src/new.py")
    (history / "first").write_text("changed")
    assert suite.changes([one()], suite.read_record()) == {"one": ["first", "src/new.py", "tests/e2e/record.json"]}
    assert suite.ages([one()], suite.read_record()) == {"one": 1}


def test_a_renamed_file_is_a_change_of_its_former_path_too(history: Path) -> None:
    """git shows a rename as its new path alone."""
    passed(commit(history, "src/old.py"))
    git(history, "commit", "--quiet", "--all", "--message", "record")
    git(history, "config", "diff.renames", "copies")
    (history / "docs").mkdir()
    git(history, "mv", "src/old.py", "docs/new.md")
    git(history, "commit", "--quiet", "--message", "rename")
    changed = suite.changes([one()], suite.read_record())
    assert changed == {"one": ["docs/new.md", "src/old.py", "tests/e2e/record.json"]}
    assert packs.selects(one(), changed["one"])
    assert suite.unproven([one()], suite.read_record()) == [one()]


@pytest.mark.parametrize(
    "path", ["src/ä.py", "src/a b.py", 'src/"a".py', "src/a\nb.py", "src/a\tb.py", "src/\udcff.py"]
)
@pytest.mark.parametrize("committed", [True, False])
def test_a_path_with_special_characters_is_a_change(history: Path, path: str, committed: bool) -> None:
    """git quotes it, unless each path ends with a NUL."""
    at = git(history, "rev-parse", "HEAD")
    passed(at)
    if committed:
        commit(history, path)
    else:
        (history / "src").mkdir()
        (history / path).write_text("x")
    changed = suite.changes([one()], suite.read_record())["one"]
    assert path in changed
    assert packs.selects(one(), changed)


def test_a_complete_run_continues_with_packs_that_did_not_pass_on_this_code(history: Path) -> None:
    one = packs.load()
    first = git(history, "rev-parse", "HEAD")
    record = {"one": Run("passed", first, "2026-11-20T10:00:00Z", 1.0, first)}
    assert suite.unproven(one, {}) == one
    unknown = "0" * 40
    assert suite.unproven(one, {"one": Run("passed", unknown, "2026-11-20T10:00:00Z", 1.0, unknown)}) == one
    packs.RECORD.write_text(packs.write(record))
    git(history, "commit", "--quiet", "--all", "--message", "record")
    assert suite.unproven(one, record) == []
    for path in ("docs/page.md", "tests/unit/test_a.py", "tests/scenario/world.py", "tests/e2e/core/test_01_up.py"):
        commit(history, path)
        assert suite.unproven(one, record) == []
    commit(history, "src/a.py")
    assert suite.unproven(one, record) == one


def test_a_file_that_packs_share_counts_for_all(history: Path) -> None:
    passed(git(history, "rev-parse", "HEAD"))
    commit(history, "tests/e2e/vms.py")
    assert suite.unproven([one()], suite.read_record()) == [one()]


def test_a_file_that_a_pack_runs_elsewhere_counts_for_it(history: Path) -> None:
    pack = Pack("one", 1, "none", ("src/**",), also=("tests/unit/test_a.py",))
    passed(git(history, "rev-parse", "HEAD"))
    commit(history, "tests/unit/test_a.py")
    assert suite.unproven([pack], suite.read_record()) == [pack]


def test_a_change_of_a_pack_counts_for_it_alone(history: Path) -> None:
    both = [Pack(name, 1, "none", ("src/**",)) for name in ("one", "two")]
    at = git(history, "rev-parse", "HEAD")
    record = {name: Run("passed", at, "2026-11-20T10:00:00Z", 1.0, at) for name in ("one", "two")}
    commit(history, "tests/e2e/packs/two/test_two.py")
    assert suite.unproven(both, record) == both[1:]


@pytest.mark.parametrize("path", ["tests/unit/worlds.py", "tests/scenario/world.py", "docs/page.md"])
def test_a_pure_test_or_page_that_a_pack_reads_counts_for_this_pack_alone(history: Path, path: str) -> None:
    reads, other = Pack("one", 1, "none", ("src/**", path)), Pack("two", 1, "none", ("src/**",))
    at = git(history, "rev-parse", "HEAD")
    record = {name: Run("passed", at, "2026-11-20T10:00:00Z", 1.0, at) for name in ("one", "two")}
    assert suite.unproven([reads, other], record) == []
    commit(history, path)
    assert suite.unproven([reads, other], record) == [reads]


def test_a_pack_that_failed_after_it_passed_on_this_code_runs_again(
    history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed(git(history, "rev-parse", "HEAD"))
    monkeypatch.setattr(suite, "run", lambda *words, env=None: 1)
    suite.Suite().pack(one())
    assert suite.read_record()["one"].passed
    assert suite.unproven([one()], suite.read_record()) == [one()]


def test_an_uncommitted_file_is_a_change_and_an_ignored_one_is_not(history: Path) -> None:
    (history / ".gitignore").write_text("out/\n")
    passed(commit(history, "src/old.py"))
    for path in ("out/log", "src/new.py"):
        assert suite.unproven([one()], suite.read_record()) == []
        (history / path).parent.mkdir(exist_ok=True)
        (history / path).write_text("x")
    assert suite.unproven([one()], suite.read_record()) == [one()]
    assert "src/new.py" in suite.changes([one()], suite.read_record())["one"]


def test_a_merge_counts_once(history: Path) -> None:
    passed(git(history, "rev-parse", "HEAD"))
    git(history, "switch", "--quiet", "--create", "topic")
    for number in range(3):
        commit(history, f"docs/{number}")
    git(history, "switch", "--quiet", "-")
    git(history, "merge", "--quiet", "--no-ff", "--no-edit", "topic")
    assert suite.ages([one()], suite.read_record()) == {"one": 1}


def test_a_record_that_is_too_old_or_of_another_history_fails(
    history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    passed(git(history, "rev-parse", "HEAD"))
    monkeypatch.setattr(packs, "MOST_COMMITS", 1)
    commit(history, "docs/1")
    assert suite.report() == 0
    commit(history, "docs/2")
    assert suite.report() == 1
    assert "one: passed more than 1 commits ago; run `make e2e PACK=one`" in capsys.readouterr().out
    packs.RECORD.write_text("{}\n")
    assert suite.report() == 1
    assert "one: added more than 1 commits ago and never passed; run `make e2e PACK=one`" in capsys.readouterr().out
    passed("0" * 40)
    assert suite.report() == 1
    assert "not in this history" in capsys.readouterr().out


def test_a_shallow_clone_has_no_ages_and_does_not_fail(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    passed(git(history, "rev-parse", "HEAD"))
    commit(history, "docs/1")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", history.as_uri(), str(shallow))
    monkeypatch.setattr(suite, "ROOT", shallow)
    assert suite.report() == 0
    assert "shallow" in capsys.readouterr().out


def test_uncommitted_code_is_not_recorded(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "run", lambda *words, env=None: 0)
    passed(git(history, "rev-parse", "HEAD"))  # the record itself does not count
    assert suite.is_clean()
    (history / "first").write_text("changed")
    assert not suite.is_clean()
    before = packs.RECORD.read_text()
    assert suite.Suite().pack(one())
    assert packs.RECORD.read_text() == before


@pytest.mark.parametrize(("code", "result"), [(0, "passed"), (1, "failed")])
def test_a_run_of_a_pack_is_recorded_with_its_commit(
    history: Path, monkeypatch: pytest.MonkeyPatch, code: int, result: str
) -> None:
    monkeypatch.setattr(suite, "run", lambda *words, env=None: code)
    at = git(history, "rev-parse", "HEAD")
    made = suite.Suite()
    made.pack(one())
    run = suite.read_record()["one"]
    assert (run.result, run.commit, run.passed) == (result, at, at if code == 0 else "")
    assert made.summary() == code


def test_a_pack_that_fails_keeps_the_commit_at_which_it_last_passed(
    history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = git(history, "rev-parse", "HEAD")
    passed(at)
    commit(history, "src/new.py")
    monkeypatch.setattr(suite, "run", lambda *words, env=None: 1)
    suite.Suite().pack(one())
    run = suite.read_record()["one"]
    assert (run.result, run.passed) == ("failed", at)


@pytest.mark.parametrize("name", suite.SELECTING)
def test_a_run_whose_environment_selects_tests_is_not_recorded(
    history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setattr(suite, "run", lambda *words, env=None: 0)
    monkeypatch.setenv(name, "x")
    made = suite.Suite()
    assert made.pack(one()) and made.core() and made.end()
    assert suite.read_record() == {}
    assert f"one is not recorded: {name} may select other tests" in capsys.readouterr().out
    monkeypatch.setenv(name, "")
    assert made.pack(one())
    assert set(suite.read_record()) == {"one"}


def test_what_changes_during_a_run_does_not_change_what_ran(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = git(history, "rev-parse", "HEAD")

    def run(*words: object, env: object = None) -> int:
        commit(history, "src/new.py")
        (history / "first").write_text("changed")
        return 0

    monkeypatch.setattr(suite, "run", run)
    assert suite.Suite().pack(one())
    assert suite.read_record()["one"].commit == at


def test_every_variable_that_tests_read_selects_tests_or_does_not() -> None:
    """Of the end-to-end tests, and of those that packs run elsewhere: the functional ones."""
    found = set[str]()
    folders = (ROOT / "tests/e2e", ROOT / "tests/functional", ROOT / "tests/support")
    for path in [*(ROOT / "tests").glob("*.py"), *(each for folder in folders for each in folder.rglob("*.py"))]:
        found |= set(re.findall(r"""(?:environ(?:\.get)?|getenv)[\[(]["'](\w+)""", path.read_text()))
    assert {"TEMPEST", "STACKWRIGHT_TEST_KUBECONFIG", "SWEEP"} <= found
    assert found - set(suite.SELECTING) == {"PATH", "TEMPEST_REPORT"}


def test_the_variable_of_make_does_not_prevent_the_record(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make e2e PACK=one` sets it for the program, too."""
    monkeypatch.setattr(suite, "run", lambda *words, env=None: 0)
    monkeypatch.setenv("PACK", "one")
    assert suite.Suite().pack(one())
    assert set(suite.read_record()) == {"one"}


def test_a_tree_unknown_to_git_does_not_count_as_clean(history: Path) -> None:
    assert suite.is_clean()
    (history / ".git").rename(history / "gone")
    assert not suite.is_clean()


def test_a_pack_whose_cloud_does_not_start_fails_and_runs_no_test(
    history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would start the cloud again, with limits of an hour."""
    ran: list[tuple[object, ...]] = []

    def run(*words: object, env: object = None) -> int:
        ran.append(words)
        return 1

    monkeypatch.setattr(suite, "run", run)
    made = suite.Suite()
    assert not made.pack(Pack("one", 1, "small", ("src/**",)))
    assert ran == [(sys.executable, suite.CLOUDS, "small")]
    assert suite.read_record()["one"].result == "failed"
    assert made.summary() == 1


class Steps:
    """In place of programs: which steps ran, with which words, and which of them fail."""

    def __init__(self, *failing: str) -> None:
        self.failing, self.ran = failing, list[str]()
        self.words: dict[str, tuple[str, ...]] = {}
        self.env: dict[str, object] = {}

    def __call__(self, *words: object, env: object = None) -> int:
        junit = next((Path(str(word)).stem for word in words if str(word).startswith("--junitxml=")), "")
        name = junit or str(words[-1])
        self.ran.append(name)
        self.words[name], self.env[name] = tuple(map(str, words)), env
        return int(name in self.failing)


@pytest.fixture
def started(history: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program that starts the cloud, which is up at once; the cluster runs before and afterwards."""
    program = history.parent / "clouds.py"
    program.write_text("")
    monkeypatch.setattr(suite, "CLOUDS", program)
    monkeypatch.setattr(suite, "UP_LOG", history / "out/up.log")
    monkeypatch.setattr(suite, "JUNIT", history.parent / "junit")
    monkeypatch.setattr(suite.state, "cluster_state", lambda: SimpleNamespace(state="ready"))
    return program


PACKS = [Pack("beside", 1, "storage", ("a",)), Pack("after", 1, "none", ("a",))]


@pytest.mark.parametrize(
    ("failing", "ran", "code"),
    [
        ((), ["unit", "core", "beside", "core_end", "after"], 0),
        (("core",), ["unit", "core", "beside", "after"], 1),
        (("beside",), ["unit", "core", "beside", "core_end", "after"], 1),
        (("unit",), ["unit", "core", "beside", "core_end", "after"], 1),
    ],
)
def test_packs_run_on_the_cloud_of_the_core_before_its_end_or_after_it(
    started: Path, monkeypatch: pytest.MonkeyPatch, failing: tuple[str, ...], ran: list[str], code: int
) -> None:
    steps = Steps(*failing)
    monkeypatch.setattr(suite, "run", steps)
    assert suite.whole(("unit",), PACKS) == code
    assert [name for name in steps.ran if name in ("unit", "core", "beside", "core_end", "after")] == ran


@pytest.mark.parametrize(
    ("limit", "ran", "omitted"),
    [
        (7.5, ["core", "beside", "core_end", "after"], ""),
        (6.5, ["core", "beside", "core_end", "after"], ""),
        (5.5, ["core", "core_end", "after"], "within 5.5 minutes: beside;"),
        (0.5, ["core", "core_end"], "within 0.5 minutes: beside, after;"),
    ],
)
def test_a_pack_that_would_end_after_the_limit_is_omitted_and_named(
    started: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    limit: float,
    ran: list[str],
    omitted: str,
) -> None:
    steps = Steps()
    monkeypatch.setattr(suite, "run", steps)
    assert suite.whole((), PACKS, limit) == 0
    assert [name for name in steps.ran if name in ("core", "beside", "core_end", "after")] == ran
    said = capsys.readouterr().out
    assert omitted in said and ("omitted" in said) is bool(omitted)
    assert ("NO PACK RAN" in said) is (ran == ["core", "core_end"])


def test_a_run_that_chose_no_pack_omitted_none(
    started: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suite, "run", Steps())
    assert suite.whole((), [], 0.5) == 0
    assert "NO PACK RAN" not in capsys.readouterr().out


def test_the_minutes_of_a_run_are_counted_from_its_beginning(
    started: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = suite.Suite(limit=60)
    assert all(map(made.has_time_for, PACKS))
    made.began -= 58.5 * 60
    assert [made.has_time_for(pack) for pack in PACKS] == [False, True]
    made.began -= 60
    assert [made.has_time_for(pack) for pack in PACKS] == [False, False]


@pytest.mark.parametrize(("verb", "limit"), [(suite.test, packs.LIMIT_MINUTES), (suite.everything, math.inf)])
def test_only_the_run_of_ci_has_a_limit(
    history: Path, monkeypatch: pytest.MonkeyPatch, verb: Callable[[], int], limit: float
) -> None:
    asked: list[float] = []
    monkeypatch.setattr(suite, "whole", lambda first, chosen, limit=math.inf: asked.append(limit) or 0)
    assert verb() == 0
    assert asked == [limit]


def test_packs_rotate_by_the_commits_of_the_main_line(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a merge of several commits would skip packs."""
    git(history, "switch", "--quiet", "--create", "topic")
    for number in range(3):
        commit(history, f"docs/{number}")
    git(history, "switch", "--quiet", "-")
    git(history, "merge", "--quiet", "--no-ff", "--no-edit", "topic")
    counts: list[int] = []
    monkeypatch.setattr(packs, "choose", lambda *words: counts.append(words[-1]) or [])
    monkeypatch.setattr(suite, "whole", lambda *words: 0)
    assert suite.test() == 0
    assert counts == [2]


@pytest.mark.parametrize("minutes", [8.5, 9.5])
def test_the_start_of_a_cloud_belongs_to_the_minutes_of_a_pack(minutes: float) -> None:
    made = suite.Suite(limit=minutes)
    assert made.has_time_for(Pack("one", 1, "full", ("a",))) is (minutes > 9)


@pytest.mark.parametrize(("built", "is_built"), [("", False), ("newest", False), (OLDEST_TEXT, True)])
def test_the_oldest_kubernetes_is_built_if_its_own_folder_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: str, is_built: bool
) -> None:
    """Also on a machine that is configured for the newest version."""
    cluster = LocalCluster(state=tmp_path / "state", cache=tmp_path / "cache")
    monkeypatch.setattr(suite.LocalCluster, "discover", lambda: cluster)
    if built:
        version = replace(cluster, kubernetes=built if built == OLDEST_TEXT else "")
        tools.folder(version, tools.KUBERNETES.module).mkdir(parents=True)
    assert suite.is_oldest_built() is is_built


@pytest.mark.parametrize("is_built", [False, True])
def test_a_pack_whose_kubernetes_must_be_compiled_is_not_chosen(
    history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_built: bool
) -> None:
    """A run on a machine without it would not end in time; `make e2e-all` takes it everywhere."""
    declared = packs.PACKS / "one/pack.toml"
    declared.write_text(declared.read_text().replace('"none"', '"oldest"'))
    other = packs.PACKS / "two/pack.toml"
    other.parent.mkdir()
    other.write_text('minutes = 1\ncloud = "none"\npaths = ["docs/**"]\n')
    monkeypatch.setattr(suite, "is_oldest_built", lambda: is_built)
    chosen: list[list[str]] = []
    monkeypatch.setattr(suite, "whole", lambda first, found, limit=0: chosen.append([pack.name for pack in found]) or 0)
    suite.test()
    suite.everything()
    assert chosen == [["one", "two"] if is_built else ["two"], ["one", "two"]]
    assert ("packs that take too long here: one" in capsys.readouterr().out) is not is_built


def test_without_a_cloud_no_end_to_end_test_runs_and_the_run_fails(
    started: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started.write_text("raise SystemExit(1)")
    steps = Steps()
    monkeypatch.setattr(suite, "run", steps)
    assert suite.whole(("unit",), PACKS) == 1
    assert steps.ran == ["unit"]


@pytest.mark.parametrize("selecting", [False, True])
def test_a_run_takes_the_pack_of_a_renamed_source_and_records_it_and_the_core(
    started: Path, history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], selecting: bool
) -> None:
    for name, glob in (("one", "src/**"), ("two", "charts/**"), ("three", "images/**")):
        declared = packs.PACKS / name / "pack.toml"
        declared.parent.mkdir(exist_ok=True)
        declared.write_text(f'minutes = 1\ncloud = "none"\npaths = ["{glob}"]\n')
    (history / ".gitignore").write_text("out/\n")
    at = commit(history, "charts/a")
    before = {name: Run("passed", at, "", 1.1 if name == "three" else 1.0, at) for name in ("one", "two", "three")}
    packs.RECORD.write_text(packs.write(before))
    git(history, "mv", "charts/a", "moved")
    here = commit(history, "docs/1")
    monkeypatch.setattr(suite, "run", Steps())
    if selecting:
        monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
    assert suite.test() == 0
    told, record = capsys.readouterr().out, suite.read_record()
    assert "packs: two\n" in told
    assert [line.split()[0] for line in told.splitlines() if line.endswith("LATE")] == ["three"]
    if selecting:
        assert record == before
    else:
        assert {name for name, run in record.items() if run.passed == here} == {"core", "core_end", "two"}


@pytest.mark.parametrize(
    ("before", "after", "ended"),
    [("ready", "ready", False), ("stopped", "ready", True), ("absent", "partial", True), ("absent", "absent", False)],
)
def test_a_run_stops_the_cluster_that_it_started_and_no_other(
    monkeypatch: pytest.MonkeyPatch, before: str, after: str, ended: bool
) -> None:
    states, steps = iter([before, after]), Steps()
    monkeypatch.setattr(suite.state, "cluster_state", lambda: SimpleNamespace(state=next(states)))
    monkeypatch.setattr(suite, "run", steps)
    with suite.cluster_as_before():
        pass
    assert steps.ran == (["down"] if ended else [])


def test_an_interrupted_run_stops_the_cluster_too(monkeypatch: pytest.MonkeyPatch) -> None:
    states, steps = iter(["absent", "ready"]), Steps()
    monkeypatch.setattr(suite.state, "cluster_state", lambda: SimpleNamespace(state=next(states)))
    monkeypatch.setattr(suite, "run", steps)
    with pytest.raises(KeyboardInterrupt), suite.cluster_as_before():
        raise KeyboardInterrupt
    assert steps.ran == ["down"]


@pytest.mark.parametrize("verb", [suite.test, suite.everything])
def test_a_run_fails_by_a_test_or_by_an_old_record(
    history: Path, monkeypatch: pytest.MonkeyPatch, verb: Callable[[], int]
) -> None:
    passed(git(history, "rev-parse", "HEAD"))
    codes = iter([0, 1, 0])
    monkeypatch.setattr(suite, "whole", lambda first, chosen, limit=0: next(codes))
    assert [verb(), verb()] == [0, 1]
    monkeypatch.setattr(packs, "MOST_COMMITS", 0)
    commit(history, "docs/1")
    assert verb() == 1


@pytest.mark.parametrize(
    ("name", "failing", "ran", "code"),
    [
        ("", (), ["core", "core_end"], 0),
        ("", ("core",), ["core"], 1),
        ("", ("core_end",), ["core", "core_end"], 1),
        ("one", (), ["one"], 0),
        ("one", ("one",), ["one"], 1),
    ],
)
def test_the_core_or_one_pack_fails_by_its_tests(
    started: Path, monkeypatch: pytest.MonkeyPatch, name: str, failing: tuple[str, ...], ran: list[str], code: int
) -> None:
    steps = Steps(*failing)
    monkeypatch.setattr(suite, "run", steps)
    assert suite.e2e(name) == code
    assert [step for step in steps.ran if step in ("core", "core_end", "one")] == ran


def test_the_core_does_not_end_before_the_packs_on_its_cloud(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps()
    monkeypatch.setattr(suite, "run", steps)
    made = suite.Suite()
    assert made.core() and made.end()
    assert f"--ignore={suite.END}" in steps.words["core"]
    assert steps.words["core"][-1] == str(packs.CORE)
    assert steps.words["core_end"][-1] == str(suite.END)
    assert suite.END.is_file()


def test_a_pack_runs_its_own_tests_and_those_that_it_names_elsewhere(
    history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps()
    monkeypatch.setattr(suite, "run", steps)
    suite.Suite().pack(Pack("one", 1, "none", ("a",), ("tests/functional/test_x.py",)))
    assert steps.words["one"][-1] == "tests/functional/test_x.py"
    (packs.PACKS / "one/test_one.py").touch()
    suite.Suite().pack(Pack("one", 1, "none", ("a",), ("tests/functional/test_x.py",)))
    assert steps.words["one"][-2:] == (str(packs.PACKS / "one"), "tests/functional/test_x.py")


@pytest.mark.parametrize(("verb", "pure"), [(suite.test, "unit"), (suite.everything, "sweep")])
def test_style_and_types_precede_pure_and_functional_tests(
    history: Path, monkeypatch: pytest.MonkeyPatch, verb: Callable[[], int], pure: str
) -> None:
    """Of all tests, all cases of the pure ones."""
    asked: list[Sequence[str]] = []
    monkeypatch.setattr(suite, "whole", lambda first, chosen, limit=0: asked.append(first) or 0)
    assert verb() == 0
    assert [tuple(first) for first in asked] == [("lint", pure, "functional")]


def test_the_test_counts_of_each_step_are_of_this_run(
    started: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(suite, "JUNIT", tmp_path / "junit")
    (tmp_path / "junit").mkdir()
    (tmp_path / "junit/servers.xml").touch()
    steps = Steps()
    monkeypatch.setattr(suite, "run", steps)
    assert suite.whole(("unit",), []) == 0
    assert list((tmp_path / "junit").iterdir()) == [], "that of a pack of an earlier run is gone"
    assert steps.env["unit"] == {"PYTEST_ADDOPTS": f"--junitxml={tmp_path}/junit/unit.xml"}


def test_an_interrupted_run_has_not_passed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(suite, "JUNIT", tmp_path)
    monkeypatch.setattr(suite, "test", interrupted)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    assert suite.main(["test"]) == 130


@pytest.mark.parametrize("words", [[], ["tests"], ["test", "one"], ["e2e", "nothing"]])
def test_invalid_arguments_are_reported_and_run_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.setattr(suite, "JUNIT", tmp_path)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    for name in ("test", "e2e", "everything"):
        monkeypatch.setattr(suite, name, lambda *_: pytest.fail("it ran"))
    assert suite.main(words) == 2
    assert "suite.py takes test, all, report, durations, or e2e" in capsys.readouterr().err


def test_a_step_that_fails_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "run", lambda *words, env=None: 1 if "unit" in words else 0)
    made = suite.Suite()
    assert [made.make(target) for target in ("lint", "unit", "functional")] == [True, False, True]
    assert made.summary() == 1


@pytest.mark.parametrize(("code", "result"), [(0, "passed"), (1, "failed")])
def test_the_core_and_its_end_are_recorded_and_never_chosen(
    history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: int, result: str
) -> None:
    monkeypatch.setattr(suite, "run", lambda *words, env=None: code)
    at = git(history, "rev-parse", "HEAD")
    made = suite.Suite()
    assert [made.core(), made.end()] == [not code, not code]
    record = suite.read_record()
    assert [(name, run.result, run.commit) for name, run in sorted(record.items())] == [
        ("core", result, at),
        ("core_end", result, at),
    ]
    assert packs.choose([one()], record, {}, {"one": 0}, 0) == [one()]
    assert suite.unproven([one()], record) == [one()]
    capsys.readouterr()
    suite.report()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    ago = ["0", at[:12]] if result == "passed" else ["unknown", "-"]
    assert ["core", result, "0.0", "25", *ago] in rows
    assert ["core_end", result, "0.0", "5", *ago] in rows


def test_the_core_of_uncommitted_code_is_not_recorded(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "run", lambda *words, env=None: 0)
    (history / "first").write_text("changed")
    assert suite.Suite().core() and suite.Suite().end()
    assert suite.read_record() == {}


def test_a_core_that_passed_long_ago_fails_no_run(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run has it."""
    at = git(history, "rev-parse", "HEAD")
    monkeypatch.setattr(packs, "MOST_COMMITS", 1)
    for number in range(3):
        here = commit(history, f"docs/{number}")
    record = {name: Run("passed", at, "", 1.0, at) for name in ("core", "core_end")}
    packs.RECORD.write_text(packs.write({**record, "one": Run("passed", here, "", 1.0, here)}))
    assert suite.report() == 0


def test_a_pack_that_exceeds_its_declared_minutes_is_marked(
    history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suite, "run", lambda *words, env=None: 0)
    clock = iter([0.0, 62.0, 100.0, 167.0])
    monkeypatch.setattr("suite.time", SimpleNamespace(monotonic=lambda: next(clock)))
    made = suite.Suite()
    made.pack(one())
    assert made.summary() == 0
    assert "LATE" not in capsys.readouterr().out
    made.pack(one())
    assert made.summary() == 0
    assert "1.1  one   LATE: 1 minutes are declared" in capsys.readouterr().out
    suite.report()
    assert capsys.readouterr().out.splitlines()[-1].split()[:4] == ["one", "passed", "1.1", "1"]


def test_a_pack_that_fails_after_its_declared_minutes_is_failed_and_not_late(
    history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has waited for a limit."""
    monkeypatch.setattr(suite, "run", lambda *words, env=None: 1)
    clock = iter([0.0, 67.0])
    monkeypatch.setattr("suite.time", SimpleNamespace(monotonic=lambda: next(clock)))
    made = suite.Suite()
    made.pack(one())
    assert made.summary() == 1
    assert capsys.readouterr().out.splitlines()[-1].split() == ["1.1", "one", "FAILED"]


def test_the_core_that_exceeds_its_minutes_is_marked(
    history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suite, "run", lambda *words, env=None: 0)
    clock = iter([0.0, 0.0, 0.0, 26 * 60.0])
    monkeypatch.setattr("suite.time", SimpleNamespace(monotonic=lambda: next(clock)))
    made = suite.Suite()
    assert made.core()
    assert made.summary() == 0
    assert "26.0  core   LATE: 25 minutes are declared" in capsys.readouterr().out


def test_the_core_installs_its_browser_first(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[object, ...]] = []

    def run(*words: object, env: object = None) -> int:
        ran.append(words)
        return 0

    monkeypatch.setattr(suite, "run", run)
    assert suite.Suite().core()
    assert ran[0] == (sys.executable, suite.BROWSER)
    assert packs.CORE in ran[1]


def test_a_cloud_that_still_starts_is_ended_as_by_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, log = tmp_path / "clouds.py", tmp_path / "out/up.log"
    program.write_text(
        "import time\nprint('begun', flush=True)\n"
        "try:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('interrupted')\n    raise SystemExit(130)\n"
    )
    monkeypatch.setattr(suite, "CLOUDS", program)
    monkeypatch.setattr(suite, "UP_LOG", log)
    with pytest.raises(KeyboardInterrupt), suite.starting() as process:
        while "begun" not in log.read_text():
            time.sleep(0.02)
        raise KeyboardInterrupt
    assert process.returncode == 130
    assert "interrupted" in log.read_text()


def test_a_cloud_that_does_not_start_is_reported_with_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "clouds.py"
    program.write_text("raise SystemExit('no disk is left')")
    monkeypatch.setattr(suite, "ROOT", tmp_path)
    monkeypatch.setattr(suite, "CLOUDS", program)
    monkeypatch.setattr(suite, "UP_LOG", tmp_path / "out/up.log")
    made = suite.Suite()
    with suite.starting() as process:
        assert not suite.started(made, process, time.monotonic())
    assert "no disk is left" in capsys.readouterr().out
    assert made.summary() == 1


def test_the_wait_for_a_cloud_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "clouds.py"
    program.write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(suite, "ROOT", tmp_path)
    monkeypatch.setattr(suite, "CLOUDS", program)
    monkeypatch.setattr(suite, "UP_LOG", tmp_path / "out/up.log")
    monkeypatch.setattr(suite, "UP_LIMIT", 0.1)
    made = suite.Suite()
    with suite.starting() as process:
        assert not suite.started(made, process, time.monotonic())
    assert made.summary() == 1
    assert process.returncode is not None


DEAF = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"


def test_a_process_that_ignores_sigterm_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "STOP_LIMIT", 0.2)
    command = [sys.executable, "-c", DEAF]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout
        assert process.stdout.readline() == b"deaf\n"
        suite.stop(process)
        assert process.returncode == -signal.SIGKILL


def test_a_program_ends_when_its_run_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in a session of its own, which Ctrl-C does not reach."""
    ended: list[int | None] = []
    wait = subprocess.Popen.wait

    def interrupted(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        if timeout is None:
            raise KeyboardInterrupt
        ended.append(wait(process, timeout))
        return 0

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        suite.run(sys.executable, "-c", "import time; time.sleep(60)")
    assert ended and ended[0] in (-signal.SIGINT, 1)


PARENT = """
import subprocess
child = subprocess.Popen(["sleep", "600"])
print(child.pid, flush=True)
child.wait()
"""


def test_the_programs_that_a_program_started_end_with_it() -> None:
    """Such as those of make and pytest."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout
        child = Path(f"/proc/{int(process.stdout.readline())}")
        suite.stop(process)
        end = time.monotonic() + 60
        try:
            while child.exists() and (child / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                assert time.monotonic() < end, "it continues"
                time.sleep(0.02)
        except FileNotFoundError:
            return
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_the_processes_of_a_run_end_with_it() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    suite.stop(process)
    assert process.returncode in (-signal.SIGINT, 1)
