"""Data on standard output: a table for people, JSON or YAML for programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from stackwright.cli import common


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


class Data(StrEnum):
    YAML = "yaml"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--output", "-o", help="Output format.")]


def show(output: Format, data: Any, text: Callable[[], str]) -> None:
    """Prints data for programs, or as a table the text for users, which is built only then and keeps its colours."""
    if output is Format.TABLE:
        common.echo(text(), painted=True)
    else:
        common.data(dumped(data, Data(output.value)))


def dumped(data: Any, output: Data) -> str:
    """Data as JSON or YAML."""
    if output is Data.JSON:
        import json

        text = json.dumps(data, indent=2, ensure_ascii=False)
        return re.sub(
            r"[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text
        )  # some are control characters of terminals
    return as_yaml(data).rstrip("\n")


def as_yaml(data: Any) -> str:
    """YAML as a user would write it: keys in their order, no anchors, long strings in one line."""
    import yaml

    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return str(yaml.dump(data, Dumper=Plain, sort_keys=False, allow_unicode=True, width=110))


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the first row is the heading. Unprintable characters are escaped."""
    from stackwright.api.errors import printable

    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join("   ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def ago(seconds: float) -> str:
    """A duration in the format of Kubernetes: 40s, 3m, 5m10s, 2h, 4d."""
    left = max(0, int(seconds))
    days, hours, minutes = left // 86400, left // 3600 % 24, left // 60 % 60
    if left < 120:
        return f"{left}s"
    if left < 600:
        return f"{minutes}m{left % 60}s" if left % 60 else f"{minutes}m"
    if left < 3600 * 3:
        return f"{left // 60}m"
    return f"{left // 3600}h" if days < 2 else f"{days}d{hours}h" if days < 8 and hours else f"{days}d"
