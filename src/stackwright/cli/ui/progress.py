"""One live status line per step, like kind: a spinner on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from stackwright.cli import common

Report = Callable[[str], None]
Phase = Callable[[str], AbstractContextManager[Report]]

OK, FAILED, SKIPPED = "✓", "✗", "-"


def progress() -> Phase:
    """A function to wrap each step in: `with phase("Title") as report: report("detail")`.

    With --quiet it prints nothing, with --verbose each detail in its own line.
    """
    if common.given.quiet:
        return silent
    return _live if sys.stdout.isatty() and not common.given.verbose else _plain


def outcome(mark: str, title: str, start: float) -> str:
    return f" {mark} {title} ({time.monotonic() - start:.1f} s)"


def skipped(title: str, reason: str) -> None:
    """A step that does not apply."""
    if not common.given.quiet:
        common.echo(f" {SKIPPED} {title} (skipped: {reason})")


@contextmanager
def _plain(title: str) -> Iterator[Report]:
    """Details are printed only when a step is slow: a log stays short and still shows the cause of a stuck step."""
    start = time.monotonic()
    shown = start

    def report(detail: str) -> None:
        nonlocal shown
        now = time.monotonic()
        if common.given.verbose or now - shown > 10:
            common.echo(f"   … {title}: {detail}")
            shown = now

    try:
        yield report
    except BaseException:
        common.echo(outcome(FAILED, title, start))
        raise
    common.echo(outcome(OK, title, start))


@contextmanager
def _live(title: str) -> Iterator[Report]:
    from rich.console import Console  # the import takes a tenth of a second; a pipe does not need it
    from rich.markup import escape

    console = Console(highlight=False)
    start = time.monotonic()
    try:
        with console.status(title) as status:
            yield lambda detail: status.update(f"{title} [dim]{escape(common.safe(detail))}[/dim]")
    except BaseException:
        console.print(f"[red]{outcome(FAILED, title, start)}[/red]")
        raise
    console.print(outcome(OK, title, start))


@contextmanager
def silent(title: str) -> Iterator[Report]:
    """For output that programs read."""
    yield lambda detail: None
