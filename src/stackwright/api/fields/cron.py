"""Cron schedules, in the format of the CronJob controller of Kubernetes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import AfterValidator

from stackwright.api.errors import shortened
from stackwright.api.fields.naming import Format

FORMAT = Format(
    r"((\S+ ){4}\S+|@(hourly|daily|weekly|monthly|yearly))",
    None,
    "must be five fields with one space between them (minute, hour, day of month, month, day of week), such as "
    "0 3 * * 1 for Mondays at 03:00, or @hourly, @daily, @weekly, @monthly or @yearly",
)
SHOWN = 21  # maximum characters of an invalid part in an error, including the …


def _numbered(names: str, first: int) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(names.split(), first)}


@dataclass(frozen=True)
class _Part:
    """One of the five fields: its range, and the names of its numbers."""

    name: str
    lowest: int
    highest: int
    names: Mapping[str, int] = field(default_factory=dict)

    def problem(self, text: str) -> str:
        """The problem of the field, with the allowed values; empty for a valid field."""
        found = ((item, why) for item in text.split(",") if (why := self._wrong(item)))
        item, why = next(found, ("", ""))
        if not why:
            return ""
        named = f" or {' '.join(self.names)}" if self.names else ""
        first, last = self.lowest, self.lowest + 2
        return (
            f"{self.name} {_short(text)}: {_short(item)} {why}; allowed: *, numbers from "
            f"{self.lowest} to {self.highest}{named}, ranges ({first}-{last}), steps (*/2), and "
            "lists of these with commas"
        )

    def _wrong(self, text: str) -> str:
        span, slash, step = text.partition("/")
        if slash and not (re.fullmatch("[0-9]{1,4}", step) and int(step)):
            return "has a step that is not a number from 1"
        if span in ("*", "?"):
            return ""
        numbers = [self._number(each) for each in span.split("-")]
        known = [number for number in numbers if number is not None and self.lowest <= number <= self.highest]
        if len(known) < len(numbers):
            return "is out of range" if None not in numbers else "is not a number"
        if len(numbers) > 2:
            return "is not a range of two numbers"
        return "" if known == sorted(known) else "is a range whose first number is the larger one"

    def _number(self, text: str) -> int | None:
        return int(text) if re.fullmatch("[0-9]{1,4}", text) else self.names.get(text.lower())


def _short(text: str) -> str:
    return repr(shortened(text, SHOWN))


_PARTS = (
    _Part("minute", 0, 59),
    _Part("hour", 0, 23),
    _Part("day of month", 1, 31),
    _Part("month", 1, 12, _numbered("jan feb mar apr may jun jul aug sep oct nov dec", 1)),
    _Part("day of week", 0, 6, _numbered("sun mon tue wed thu fri sat", 0)),
)


def _checked(text: str) -> str:
    if text.startswith("@"):
        return text
    wrong = list(filter(None, (part.problem(each) for part, each in zip(_PARTS, text.split(" "), strict=True))))
    if wrong:
        raise ValueError("; ".join(wrong))
    return text


Schedule = Annotated[str, FORMAT, AfterValidator(_checked)]
