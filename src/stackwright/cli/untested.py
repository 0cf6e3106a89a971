"""Warns of values that no test uses in a real cloud, in `apply` and `up -f`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stackwright.cli import common
from stackwright.forecast.untested import untested_values

if TYPE_CHECKING:
    from stackwright.cli.manifests.load import Manifest


def warn(manifests: Iterable[Manifest]) -> None:
    """Prints one line on standard error for each untested value of clouds and services."""
    for entry in untested_values((each.kind, each.obj) for each in manifests):
        common.echo(f"Warning: untested: {entry.what}  ({entry.why})", err=True)
