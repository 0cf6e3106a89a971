"""Agents of the nodes, as Neutron and Nova list them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from stackwright.api.errors import printable, shortened

REPORTS = "it still reports"  # what uses an agent that its service does not list as down
SHOWN = 5
LONGEST = 200  # characters of a text
MORE = "it is used, or could not be forgotten"  # what is stored of an agent whose uses are not shown


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


def listed(names: Iterable[str]) -> str:
    """Names of agents in words, in a bounded size: any number of nodes may leave."""
    return ", ".join(some([shown(name) for name in names]))


def briefly(uses: Iterable[str]) -> list[str]:
    """What uses an agent, in a bounded size and without control characters: tenants choose names."""
    return some([shortened(printable(use), LONGEST) for use in uses])


def outcome(uses: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Agent → what it is kept for, as it is stored: a ConfigMap takes 1 MiB, and many nodes may leave together.

    Texts are stored only of the first SHOWN agents that are kept; of the others no more than whether they report.
    """
    told = sorted(name for name, texts in uses.items() if texts)[:SHOWN]
    return {name: briefly(texts) if name in told else _whether(texts) for name, texts in uses.items()}


def _whether(uses: Collection[str]) -> list[str]:
    return [REPORTS if REPORTS in uses else MORE] if uses else []


def some(texts: Sequence[str]) -> list[str]:
    """At most SHOWN of the texts; the last one tells how many are left out."""
    first, more = list(texts[:SHOWN]), len(texts) - SHOWN
    return [*first[:-1], f"{first[-1]} and {more} more"] if more > 0 else first
