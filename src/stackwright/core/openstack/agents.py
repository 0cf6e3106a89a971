"""Agents of the nodes, as Neutron and Nova list them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

REPORTS = "it still reports"  # what uses an agent that its service does not list as down
SHOWN = 5
LONGEST = 200  # characters of a use, which may contain a name that a user chose


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
    """The first uses of an agent, and the number of the others, in a bounded size."""
    every = list(uses)
    return some([use if len(use) <= LONGEST else f"{use[:LONGEST]}…" for use in every[:SHOWN]], len(every))


def some(texts: Sequence[str], number: int) -> list[str]:
    """At most SHOWN of the texts; the last one tells how many are left out of a number of them."""
    first = list(texts[:SHOWN])
    return first if number <= len(first) else [*first[:-1], f"{first[-1]} and {number - len(first)} more"]
