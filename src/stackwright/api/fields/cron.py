"""Cron schedules, in the format of the CronJob controller of Kubernetes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import AfterValidator

from stackwright.api.fields.naming import Format

FORMAT = Format(
    r"((\S+ ){4}\S+|@(hourly|daily|weekly|monthly|yearly))",
    None,
    "must be five fields of cron, such as 0 3 * * 1, or @hourly, @daily, @weekly, @monthly or @yearly",
)


def _numbered(names: str, first: int) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(names.split(), first)}


@dataclass(frozen=True)
class _Part:
    """One of the five fields: its range, and names for its numbers."""

    name: str
    lowest: int
    highest: int
    names: Mapping[str, int] = field(default_factory=dict)

    def holds(self, text: str) -> bool:
        return all(self._item(item) for item in text.split(","))

    def _item(self, text: str) -> bool:
        span, slash, step = text.partition("/")
        if slash and not (re.fullmatch("[0-9]{1,4}", step) and int(step)):
            return False
        if span in ("*", "?"):
            return True
        numbers = [self._number(each) for each in span.split("-")]
        known = [number for number in numbers if number is not None and self.lowest <= number <= self.highest]
        return len(known) == len(numbers) <= 2 and known == sorted(known)

    def _number(self, text: str) -> int | None:
        return int(text) if re.fullmatch("[0-9]{1,4}", text) else self.names.get(text.lower())


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
    wrong = [
        f"{part.name} {each!r} is not within {part.lowest} to {part.highest}"
        for part, each in zip(_PARTS, text.split(), strict=True)
        if not part.holds(each)
    ]
    if wrong:
        raise ValueError("; ".join(wrong))
    return text


Schedule = Annotated[str, FORMAT, AfterValidator(_checked)]
