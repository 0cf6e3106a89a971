"""Shared by the commands of complete images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli.output import Format

if TYPE_CHECKING:
    from stackwright.cli.ui.progress import Phase

Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of images; default: all.")]


def phases(output: Format) -> Phase:
    """Progress, unless standard output is for programs."""
    from stackwright.cli.ui.progress import progress, silent

    return progress() if output is Format.TABLE else silent


def split(names: Iterable[str] | None, *, charts: bool) -> tuple[list[str] | None, list[str]]:
    """Split names into those of images (None for all) and those of charts (empty without `charts`).

    Raises LocalError for a chart that is not published.
    """
    from stackwright.local.commands import LocalError
    from stackwright.local.image.published.charts import FOLDER, NAMES

    named = list(names or NAMES)
    chosen = [name for name in named if name.startswith(f"{FOLDER}/")]
    if unknown := sorted({*chosen} - {*NAMES}):
        raise LocalError(f"{', '.join(unknown)}: no such chart; the charts of registries are {' and '.join(NAMES)}")
    images = [name for name in named if name not in chosen] if names else None
    return images, [name for name in NAMES if charts and name in chosen]


def megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
