"""Converts exceptions to messages and exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from stackwright.cli import common


@contextmanager
def explained(resume: str = "") -> Iterator[None]:
    """Prints the message of an expected failure, and after Ctrl-C the remains and how to continue."""
    from stackwright.local.commands import LocalError

    try:
        yield
    except LocalError as problem:
        common.echo(f"\n{problem}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        common.echo(f"\nInterrupted. {resume}", err=True)
        raise typer.Exit(130) from None
