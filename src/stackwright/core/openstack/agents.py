"""Agents of the nodes, as Neutron and Nova list them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stackwright.api.errors import printable

REPORTS = "it still reports"  # what uses an agent that its service does not list as down
SHOWN = 5
LONGEST = 200  # characters of a text


@dataclass(frozen=True)
class Agent:
    """A network agent or a compute service on a node."""

    name: str
    host: str
    up: bool
    enabled: bool = True


def registered(binary: str, host: str) -> str:
    """The name of an agent in plans and results: its program and its node, as nova-compute@node1."""
    return f"{binary}@{host}"


def shown(name: str) -> str:
    """The same in words."""
    return name.replace("@", " on ", 1)


def briefly(uses: Iterable[str]) -> list[str]:
    """What uses an agent, in a bounded size and without control characters: tenants choose names."""
    texts = (printable(use) for use in uses)
    return some([text if len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in texts])


def some(texts: Sequence[str]) -> list[str]:
    """At most SHOWN of the texts; the last one tells how many are left out."""
    first, more = list(texts[:SHOWN]), len(texts) - SHOWN
    return [*first[:-1], f"{first[-1]} and {more} more"] if more > 0 else first
