"""The public side of a cloud in `status`: responses of its endpoints, agents and compute services of its nodes."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from stackwright.cli.ui.tree import BLOCKED, READY, Node

if TYPE_CHECKING:
    from stackwright.adapters.openstack.deployed.public_api import Live
    from stackwright.core.openstack.deployed.agents import Agent


def nodes(live: Live) -> list[Node]:
    """Two trees: endpoints, and nodes with their agents and services."""
    endpoints = tuple(
        Node(BLOCKED if each.problem else READY, each.url, each.problem, _time(each.milliseconds))
        for each in live.endpoints
    )
    found = [_parent("Public endpoints", endpoints)] if endpoints else []
    if live.problem:
        found.append(Node(BLOCKED, "Agents and compute services" if endpoints else "Public endpoints", live.problem))
    elif live.agents:
        by_host = groupby(sorted(live.agents, key=lambda each: (each.host, each.name)), lambda each: each.host)
        found.append(_parent("Agents and compute services", tuple(_host(host, list(group)) for host, group in by_host)))
    return found


def _host(host: str, agents: list[Agent]) -> Node:
    """One line for all healthy agents, and one for each other agent."""
    well = ", ".join(each.name for each in agents if each.up and each.enabled)
    bad = tuple(
        Node(BLOCKED, each.name, "is disabled" if each.up else "does not report")
        for each in agents
        if not (each.up and each.enabled)
    )
    title = f"{host}: {well}" if well else host
    return Node(BLOCKED if bad else READY, title, "", (), bad)


def _parent(title: str, children: tuple[Node, ...]) -> Node:
    return Node(BLOCKED if any(child.state != READY for child in children) else READY, title, "", (), children)


def _time(milliseconds: int) -> tuple[str, ...]:
    return (f"{milliseconds} ms",) if milliseconds else ()
