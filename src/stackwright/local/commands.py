"""Running programs: argument lists only, output kept for the error message, a limit on every call."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Report = Callable[[str], None]
"""A step tells what it is doing right now; the text replaces the former one on the step's status line."""


class LocalError(Exception):
    """Something an operator of the machine can act upon. The text says what, why, and what to do."""


def quiet(_: str) -> None:
    """A Report for callers who do not care."""


def run(
    argv: Sequence[str | Path],
    *,
    limit: float = 60,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str | None = None,
) -> str:
    """Run to the end and return standard output; a failure carries the end of what the program said."""
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
        raise LocalError(f"`{' '.join(words)}` did not end within {limit:.0f} s") from slow
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise LocalError(f"`{' '.join(words)}` failed with exit code {done.returncode}:\n{said}")
    return done.stdout


def bound(argv: Sequence[str | Path]) -> list[str | Path]:
    """The same command, killed by the kernel when we die: nobody must go on writing behind a successor's back."""
    return ["setpriv", "--pdeathsig", "KILL", "--", *argv]


def succeeds(argv: Sequence[str | Path], *, limit: float = 60) -> bool:
    """For questions whose answer is an exit code, and removals that may find nothing."""
    try:
        run(argv, limit=limit)
    except LocalError:
        return False
    return True


def tail(path: Path, lines: int = 12) -> str:
    """The end of a log file; empty when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 16384))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
