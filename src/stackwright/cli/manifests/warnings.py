"""Warns of values that no test uses in a real cloud, and of secrets as plain text, in `apply` and `up -f`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stackwright.cli import common
from stackwright.cli.ui.steps import PREFIXES
from stackwright.forecast.plaintext import plaintext_secrets
from stackwright.forecast.untested import untested_values

if TYPE_CHECKING:
    from stackwright.cli.manifests.load import Manifest


def warn(manifests: Iterable[Manifest]) -> None:
    """Prints one line on standard error for each such value of clouds and services."""
    objects = [(each.kind, each.obj) for each in manifests]
    for entry in (*untested_values(objects), *plaintext_secrets(objects)):
        common.echo(f"Warning: {PREFIXES[entry.verb]}{entry.what}  ({entry.why})", err=True)
