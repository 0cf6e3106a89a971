"""A plan as text: one line per step, its changes below."""

from __future__ import annotations

from collections.abc import Iterable

from stackwright.cli import common
from stackwright.forecast.entries import BUILT, CREATE, DELETE, FAIL, NOTE, SIGNS, WAIT, ChangedValue, Entry, Topic

COLOURS = {
    "create": "green",
    "change": "yellow",
    "delete": "red",
    "fail": "red",
    "call": "cyan",
    "wait": "bright_black",
    "note": "yellow",
}
MOST = 40
PREFIXES: dict[str, str] = {
    Topic.LOST: "lost: ",
    Topic.KEPT: "kept: ",
    Topic.RESTART: "restarts: ",
    Topic.MISSING: "missing: ",
    Topic.UNTESTED: "untested: ",
    Topic.PLAINTEXT: "plain-text secret: ",
}


def lines(found: Iterable[Entry], *, full: bool = False, colour: bool = False) -> list[str]:
    rendered: list[str] = []
    for entry in found:
        tail = "; ".join(text for text in (entry.why, entry.note) if text)
        tail, what = common.safe(tail), common.safe(entry.what)
        head = f"  {SIGNS[entry.does]} {PREFIXES.get(entry.verb, '') if entry.does == NOTE else ''}{what}"
        rendered.append(_painted(head, entry.does, colour) + (f"  ({tail})" if tail and entry.does != FAIL else ""))
        if entry.does == FAIL:
            rendered.append(f"      {tail}")
        elif entry.does not in (WAIT, DELETE):
            rendered += _changes(entry, full)
    return rendered


def _changes(entry: Entry, full: bool) -> list[str]:
    """All changes of existing objects; of new objects, those that a user requested, unless `full`."""
    shown = list(entry.changes)
    if entry.does == CREATE and not full:
        shown = [each for each in shown if each.source != BUILT]
    cut = shown if full else shown[:MOST]
    rendered = [_change(each) for each in cut]
    left = len(entry.changes) - len(cut)
    if left:
        more = f"{left} more values" if len(cut) else f"{left} values"
        rendered.append(f"      {more}; --full shows them")
    return rendered


def _change(each: ChangedValue) -> str:
    return f"      {each.change}" + (f"   [{each.source}]" if each.source else "")


def _painted(text: str, does: str, colour: bool) -> str:
    if not colour:
        return text
    import typer

    return typer.style(text, fg=COLOURS[does])
