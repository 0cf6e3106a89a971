"""From exceptions to what a person reads, and to the exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from stackwright.cli import common


@contextmanager
def explained(resume: str = "") -> Iterator[None]:
    """A foreseen failure is shown as its text; Ctrl-C says what is left and how to go on."""
    from stackwright.local.commands import LocalError

    try:
        yield
    except LocalError as problem:
        common.echo(f"\n{problem}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        common.echo(f"\nInterrupted. {resume}", err=True)
        raise typer.Exit(130) from None
