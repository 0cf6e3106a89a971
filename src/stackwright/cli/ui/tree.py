"""A tree of things with a state: what `stackwright status` prints. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

READY, BUSY, BLOCKED, UNKNOWN = "ready", "progressing", "blocked", "unknown"
MARKS = {READY: "✓", BUSY: "…", BLOCKED: "✗", UNKNOWN: "?"}
COLOURS = {READY: "green", BUSY: "yellow", BLOCKED: "red", UNKNOWN: "bright_black"}


@dataclass(frozen=True)
class Node:
    """state     READY, BUSY, BLOCKED or UNKNOWN
    title     what it is: "Keystone openstack/keystone"
    message   why it is not ready
    facts     further short texts: progress, age, restarts
    """

    state: str
    title: str
    message: str = ""
    facts: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"what": self.title, "state": self.state}
        if self.message:
            shown["message"] = self.message
        if self.facts:
            shown["facts"] = list(self.facts)
        if self.children:
            shown["children"] = [child.as_dict() for child in self.children]
        return shown


def lines(node: Node, *, colour: bool = False) -> list[str]:
    return list(_lines(node, "", "", colour))


def _lines(node: Node, first: str, below: str, colour: bool) -> Iterator[str]:
    mark = MARKS[node.state]
    if colour:
        import typer

        mark = typer.style(mark, fg=COLOURS[node.state])
    facts = f"  ({', '.join(node.facts)})" if node.facts else ""
    message = f": {node.message}" if node.message else ""
    yield f"{first}{mark} {node.title}{facts}{message}"
    for i, child in enumerate(node.children):
        last = i == len(node.children) - 1
        yield from _lines(child, f"{below}{'└─ ' if last else '├─ '}", f"{below}{'   ' if last else '│  '}", colour)


def troubles(node: Node) -> Node | None:
    """The tree without what is ready; None when all of it is."""
    if node.state == READY:
        return None
    left = tuple(found for child in node.children if (found := troubles(child)) is not None)
    return Node(node.state, node.title, node.message, node.facts, left)


def flat(nodes: Iterable[Node], above: str = "") -> Iterator[tuple[str, Node]]:
    """Each node with its path of titles, so that two trees can be compared line by line."""
    for node in nodes:
        path = f"{above} > {node.title}" if above else node.title
        yield path, node
        yield from flat(node.children, path)
