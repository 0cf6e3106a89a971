"""What an expression of a template can cause in an engine: apart.py, and how limits.py runs it."""

from __future__ import annotations

import os
import resource
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT

APART = ROOT / "charts/heat/bin/apart.py"
SLOW = "too much time or memory"
PAGE = resource.getpagesize()


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Replaces Python, which runs apart.py, by a script. The file that this returns has a line for each run."""

    def replaced(script: str) -> Path:
        program, runs = tmp_path / "python", tmp_path / "runs"
        program.write_text(f"#!/bin/sh\necho run >> {runs}\n{script}\n")
        program.chmod(0o755)
        runs.touch()
        monkeypatch.setattr(sys, "executable", str(program))
        return runs

    return replaced


def count(runs: Path) -> int:
    return len(runs.read_text().splitlines())


def memory_of_children() -> list[int]:
    """Of each child of this process that runs apart.py, its resident set. Until it does, it shares its parent's."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            command = path.with_name("cmdline").read_bytes()
        except OSError:  # it ended
            continue
        if int(fields[1]) == os.getpid() and b"apart.py" in command:
            found.append(int(fields[21]) * PAGE)
    return found


def test_an_engine_evaluates_one_expression_at_a_time(limits: Any) -> None:
    """Each uses much memory: the groups of a regular expression are remembered for each repetition."""
    answers: list[object] = []

    def evaluate() -> None:
        try:
            answers.append(limits.apart("matches", "(?:(a)|b)*c", "ab" * 250_000))
        except ValueError as error:
            answers.append(error)

    threads = [threading.Thread(target=evaluate) for _ in range(8)]
    for thread in threads:
        thread.start()
    samples = []
    while any(thread.is_alive() for thread in threads):
        samples.append(memory_of_children())
        time.sleep(0.01)
    assert len(answers) == 8
    assert max(map(sum, samples)) > 50 << 20, "it was seen at work"
    assert max(map(len, samples)) == 1
    assert max(map(sum, samples)) <= 128 << 20


def test_who_waits_too_long_for_others_is_refused(limits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.apart.__globals__, "QUEUE", 0.1)

    def evaluate() -> None:
        with pytest.raises(ValueError, match=SLOW):
            limits.apart("matches", "(a+)+$", "a" * 40 + "!")

    other = threading.Thread(target=evaluate)
    other.start()
    while not memory_of_children():
        time.sleep(0.01)
    with pytest.raises(ValueError, match="try again"):
        limits.apart("matches", "a", "a")
    other.join()
    assert limits.apart("matches", "a", "a") == 1


def test_who_does_not_answer_is_charged_the_maximum(limits: Any, python: Callable[[str], Path]) -> None:
    runs = python("exit 1")
    with limits.bounded():
        for _ in range(30):
            with pytest.raises(ValueError, match="too much time"):
                limits.apart("yaql", "", {}, {})
    assert count(runs) == limits.APART // limits.SECONDS == 10


@pytest.mark.parametrize(("seconds", "most"), [(0.01, 30), (1.0, 19), (1.9, 10)])
def test_who_answers_is_charged_what_it_used(
    limits: Any, python: Callable[[str], Path], seconds: float, most: int
) -> None:
    runs = python(f"""echo '{{"result": 1, "seconds": {seconds}}}'""")
    with limits.bounded():
        for number in range(30):
            if number < most:
                assert limits.apart("matches", "", "") == 1
                continue
            with pytest.raises(ValueError, match="too much time"):
                limits.apart("matches", "", "")
    assert count(runs) == most


INVALID = ("exit 1", "kill -9 $$", "echo '['", "echo []", "echo 1", "printf '\\377'", "echo {}")


@pytest.mark.parametrize("script", INVALID)
def test_an_answer_that_is_not_valid_is_an_error_of_the_expression(
    limits: Any, python: Callable[[str], Path], script: str
) -> None:
    python(script)
    for _ in range(2):
        with pytest.raises(ValueError, match=SLOW):
            limits.apart("yaql", "", {}, {})


def test_an_answer_of_any_length_takes_little_memory(limits: Any, python: Callable[[str], Path]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    python("printf '['; head -c 300000000 /dev/zero | tr '\\0' 1; printf ']'")
    with pytest.raises(ValueError, match=SLOW):
        limits.apart("yaql", "", {}, {})
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


def test_a_large_question_is_refused(limits: Any, python: Callable[[str], Path]) -> None:
    """The characters take six times as many bytes in JSON."""
    runs = python("exit 1")
    with pytest.raises(ValueError, match="MiB"):
        limits.apart("yaql", "$", {"data": ["\x01" * 1_000_000] * 15}, {})
    assert count(runs) == 0


def test_no_error_contains_the_command(limits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that replaces `subprocess` has exceptions of its own."""

    class TimeoutExpired(Exception):
        pass

    def run(command: list[str], **_: object) -> None:
        raise TimeoutExpired(f"Command {command} timed out")

    monkeypatch.setattr(subprocess, "run", run)
    for _ in range(2):
        with pytest.raises(ValueError, match=SLOW) as caught:
            limits.apart("yaql", "", {}, {})
        assert "apart.py" not in str(caught.value)


@pytest.fixture
def child() -> dict[str, Any]:
    """The names of apart.py, in this process."""
    return runpy.run_path(str(APART))


LARGE = {
    "a list in a list": [["x" * 5000] * 190] * 190,
    "a long string": "x" * 2_000_000,
    "many values": [[]] * 300_000,
    "characters that JSON escapes": ["\x01" * 1_000_000] * 10,
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_result_is_refused_before_it_becomes_a_text(child: dict[str, Any], name: str) -> None:
    child["FUNCTIONS"]["yaql"] = lambda: LARGE[name]
    begun = time.process_time()
    text = child["answer"]("yaql")
    assert len(text) < 300 and '"error": ' in text
    assert time.process_time() - begun < 2


def test_a_result_is_an_answer(child: dict[str, Any]) -> None:
    child["FUNCTIONS"]["yaql"] = lambda *_: {"a": [1, None, "ü" * 200_000]}
    assert '"error": ' not in child["answer"]("yaql", "$", {}, {})
    child["FUNCTIONS"]["yaql"] = lambda *_: 1 / 0
    assert '"error": "division by zero"' in child["answer"]("yaql", "$", {}, {})
    child["FUNCTIONS"]["yaql"] = lambda *_: object()
    assert "not JSON serializable" in child["answer"]("yaql", "$", {}, {})
