"""Run programs: argument lists only, output kept for the error message, a timeout for every call."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Report = Callable[[str], None]
"""Progress callback of a step; the text replaces the previous one on the step's status line."""


class LocalError(Exception):
    """An error that the user can fix. The text has the problem, its cause and the remedy."""


def quiet(_: str) -> None:
    """A Report that does nothing."""


def run(
    argv: Sequence[str | Path],
    *,
    limit: float = 60,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str | None = None,
) -> str:
    """Run a program and return its standard output. Raises LocalError with the end of the program's output."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            cwd=cwd,
            input=stdin,
            env={**os.environ, **env} if env else None,
        )
    except FileNotFoundError as missing:
        raise LocalError(f"{words[0]} is not installed") from missing
    except subprocess.TimeoutExpired as slow:
        raise LocalError(f"`{' '.join(words)}` was not finished after {limit:.0f} s") from slow
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise LocalError(f"`{' '.join(words)}` failed with exit code {done.returncode}:\n{said}")
    return done.stdout


def bound(argv: Sequence[str | Path]) -> list[str | Path]:
    """The same command; the kernel kills it with its parent, so that it cannot write while a later process runs."""
    return ["setpriv", "--pdeathsig", "KILL", "--", *argv]


def succeeds(argv: Sequence[str | Path], *, limit: float = 60) -> bool:
    """Whether a program ends with exit code 0; for checks, and for removals of resources that may be absent."""
    try:
        run(argv, limit=limit)
    except LocalError:
        return False
    return True


def tail(path: Path, lines: int = 12) -> str:
    """The end of a log file; empty without one."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 16384))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
