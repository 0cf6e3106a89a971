"""Warns of values that no test uses in a real cloud, and of secrets as plain text, in `apply` and `up -f`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stackwright.cli import common
from stackwright.forecast.plaintext import plaintext_secrets
from stackwright.forecast.untested import untested_values

if TYPE_CHECKING:
    from stackwright.cli.manifests.load import Manifest


def warn(manifests: Iterable[Manifest]) -> None:
    """Prints one line on standard error for each such value of clouds and services."""
    objects = [(each.kind, each.obj) for each in manifests]
    for title, found in (
        ("untested", untested_values(objects)),
        ("plain-text secret", plaintext_secrets(objects)),
    ):
        for entry in found:
            common.echo(f"Warning: {title}: {entry.what}  ({entry.why})", err=True)
