"""The output of `make mutants` about its mutants."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import mutants
import pytest

from support.paths import ROOT


def test_only_a_test_that_failed_or_had_no_end_has_noticed_a_mutant() -> None:
    """Not one that could not run: 0 passed, 2 interrupted, 4 wrong words, 5 no tests; None was not tried."""
    codes = [1, 1, 3, 36, 0, 2, 4, 5, None, None]
    told = mutants.table({"core": dict(zip("abcdefghij", codes, strict=True)), "services": {"x": None}})
    head, _, core, services, every = told.splitlines()
    assert head == "| folder | mutants | tried | noticed | out of time | not noticed | score |"
    assert core == "| core | 10 | 8 | 3 | 1 | 4 | 50 % |"
    assert services == "| services | 1 | 0 | 0 | 0 | 0 | - |"
    assert every == "| all | 11 | 8 | 3 | 1 | 4 | 50 % |"


def test_a_sample_has_as_many_of_each_folder_and_is_the_same_for_a_seed() -> None:
    found = {"core": dict.fromkeys(map(str, range(100))), "services": dict.fromkeys(map(str, range(100, 103)))}
    drawn = mutants.sample(found, 20, 7)
    assert len(set(drawn)) == len(drawn) == 13
    assert sum(name in found["services"] for name in drawn) == 3
    assert drawn == mutants.sample(found, 20, 7)
    assert drawn != mutants.sample(found, 20, 8)


@pytest.mark.parametrize("folder", mutants.FOLDERS)
def test_each_folder_exists_and_its_results_are_found(tmp_path: Path, folder: str) -> None:
    sources = [path for path in ROOT.glob(mutants.FOLDERS[folder]) if path.suffix == ".py"]
    assert sources
    meta = tmp_path / "mutants" / f"{sources[-1].relative_to(ROOT)}.meta"
    meta.parent.mkdir(parents=True)
    meta.write_text(json.dumps({"exit_code_by_key": {"a": 1}}))
    assert mutants.results(tmp_path) == {name: ({"a": 1} if name == folder else {}) for name in mutants.FOLDERS}


def test_excluded_tests_exist() -> None:
    assert [name for name in mutants.LEFT_OUT if not (ROOT / "tests/unit" / name).exists()] == []


def test_the_copy_is_a_separate_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that read the commit would fail in it, and without their success no mutant runs."""
    source, to = tmp_path / "source", tmp_path / "copy"
    for folder in (source, to):
        folder.mkdir()
    (source / "tracked").write_text("a")
    (source / "other").write_text("b")
    (source / "link").symlink_to("tracked")
    (source / "dangling").symlink_to("nothing")  # on which mutmut's own copy fails
    for words in (["init", "--quiet"], ["add", "tracked", "link", "dangling"]):
        subprocess.run(["git", *words], cwd=source, check=True)
    monkeypatch.setattr(mutants, "ROOT", source)
    mutants.copy(to)
    asked = subprocess.run(
        ["git", "ls-tree", "--name-only", "HEAD"], cwd=to, check=True, capture_output=True, text=True
    )
    assert asked.stdout.split() == ["link", "tracked"]
    assert not (to / "other").exists()


MUTMUT = """#!{python}
import sys
print("\\r⠋ Generating mutants", end="")
print("\\r⠙ Generating mutants", end="")
print("\\n    done")
for number in range(1001):
    sys.__stdout__.write(f"\\r⠹ {{number}}/1000  🎉 {{number}}   ")
    sys.__stdout__.flush()
print()
print("9.99 mutations/second", sys.argv[1:])
raise SystemExit(3)
"""


def test_without_a_terminal_the_output_has_plain_lines_and_no_spinner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "mutmut"
    program.write_text(MUTMUT.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert mutants.mutmut(tmp_path, "a", "b") == 3
    told = capsys.readouterr().out
    lines = [line for line in told.splitlines() if line]
    assert lines[:3] == ["Generating mutants", "    done", "0/1000  🎉 0"]
    assert lines[-2:] == ["1000/1000  🎉 1000", "9.99 mutations/second ['run', 'a', 'b']"]
    assert len(lines) == 2 + 21 + 1
    assert "\r" not in told
