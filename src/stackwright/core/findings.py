"""A finding: the result of one check of a machine or a cluster. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """`level`: ok, note (works, with a limit), or problem."""

    subject: str
    level: str
    text: str
    remedy: str = ""
    log: str = ""
