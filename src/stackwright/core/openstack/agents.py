"""Agents of the nodes, as Neutron and Nova list them. Pure."""

from __future__ import annotations

from dataclasses import dataclass


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
