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
