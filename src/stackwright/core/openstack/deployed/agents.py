"""Agents of the nodes, as Neutron and Nova list them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from stackwright.api.errors import printable, shortened

REPORTS = "Reports"  # code of the use of an agent that its service does not list as down
TEXTS = {REPORTS: "it still reports"}  # code of a use → its text; all other uses are texts
SHOWN = 5
USE_CHARACTERS = 200  # of the text of a use
MORE = "it is used, or could not be deleted"  # stored for an agent whose uses are omitted


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


def display_name(name: str) -> str:
    """The name in a text: nova-compute on node1."""
    return name.replace("@", " on ", 1)


def described(uses: Iterable[str]) -> str:
    """Uses of an agent as one text."""
    return ", ".join(TEXTS.get(use, use) for use in uses)


def display_names(names: Iterable[str]) -> str:
    """Names of agents as one text, at most SHOWN of them, because any number of nodes may leave."""
    return ", ".join(truncated([display_name(name) for name in names]))


def truncated_uses(uses: Iterable[str]) -> list[str]:
    """The uses of an agent, limited in number and length, without control characters, because tenants choose names."""
    return truncated([shortened(printable(use), USE_CHARACTERS) for use in uses])


def bounded_uses(uses: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Agent → its uses, in the bounded form for a ConfigMap of at most 1 MiB: many nodes may leave together.

    Only the first SHOWN agents in use have their texts; each of the others has REPORTS or MORE.
    """
    told = sorted(name for name, texts in uses.items() if texts)[:SHOWN]
    return {name: truncated_uses(texts) if name in told else _whether(texts) for name, texts in uses.items()}


def _whether(uses: Collection[str]) -> list[str]:
    return [REPORTS if REPORTS in uses else MORE] if uses else []


def truncated(texts: Sequence[str]) -> list[str]:
    """At most SHOWN of the texts; the last one contains the number of omitted ones."""
    first, more = list(texts[:SHOWN]), len(texts) - SHOWN
    return [*first[:-1], f"{first[-1]} and {more} more"] if more > 0 else first
