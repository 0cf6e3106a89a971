"""Shared by the commands of complete images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stackwright.cli.ui.output import Format

if TYPE_CHECKING:
    from stackwright.cli.ui.progress import Phase

Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of images; default: all.")]


def phases(output: Format) -> Phase:
    """Progress, unless standard output is for programs."""
    from stackwright.cli.ui.progress import progress, silent

    return progress() if output is Format.TABLE else silent


def megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
