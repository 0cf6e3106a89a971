"""A tree of objects with states, as `stackwright status` prints it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from stackwright.api.errors import printable

READY, BUSY, BLOCKED, UNKNOWN = "ready", "progressing", "blocked", "unknown"
MARKS = {READY: "✓", BUSY: "…", BLOCKED: "✗", UNKNOWN: "?"}
COLOURS = {READY: "green", BUSY: "yellow", BLOCKED: "red", UNKNOWN: "bright_black"}


@dataclass(frozen=True)
class Subject:
    """reason  of its condition Ready; "" without one
    since   RFC 3339: the last change of its state, or its creation
    """

    kind: str
    name: str
    namespace: str = ""
    reason: str = ""
    since: str = ""


@dataclass(frozen=True)
class Node:
    """state     READY, BUSY, BLOCKED or UNKNOWN
    title     the text on the terminal: "Keystone openstack/keystone"
    message   reason why it is not ready
    facts     further short texts: progress, age, restarts
    subject   the object behind the line, for programs; None for a line without one
    """

    state: str
    title: str
    message: str = ""
    facts: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()
    subject: Subject | None = None

    def as_dict(self) -> dict[str, Any]:
        """All keys are always present, so that programs need no defaults: docs/reference/output.md."""
        subject = self.subject or Subject("", self.title)
        return {
            "kind": subject.kind,
            "namespace": subject.namespace,
            "name": subject.name,
            "ready": self.state == READY,
            "state": self.state,
            "reason": subject.reason,
            "message": self.message,
            "since": subject.since,
            "facts": list(self.facts),
            "children": [child.as_dict() for child in self.children],
        }


def lines(node: Node, *, colour: bool = False) -> list[str]:
    return list(_lines(node, "", "", colour))


def _lines(node: Node, first: str, below: str, colour: bool) -> Iterator[str]:
    mark = MARKS[node.state]
    if colour:
        import typer

        mark = typer.style(mark, fg=COLOURS[node.state])
    facts = f"  ({', '.join(node.facts)})" if node.facts else ""
    message = f": {node.message}" if node.message else ""
    yield f"{first}{mark} {printable(f'{node.title}{facts}{message}')}"
    for i, child in enumerate(node.children):
        last = i == len(node.children) - 1
        yield from _lines(child, f"{below}{'└─ ' if last else '├─ '}", f"{below}{'   ' if last else '│  '}", colour)


def without_ready(node: Node) -> Node | None:
    """The tree without ready nodes; None if all are ready."""
    if node.state == READY:
        return None
    left = tuple(found for child in node.children if (found := without_ready(child)) is not None)
    return Node(node.state, node.title, node.message, node.facts, left)


def folded(node: Node) -> Node:
    """The tree without the children of ready nodes; a fact shows their number."""
    if node.state == READY and node.children:
        hidden = sum(1 for _ in flat(node.children))
        return replace(node, facts=(*node.facts, f"{hidden} folded"), children=())
    return replace(node, children=tuple(map(folded, node.children)))


def fitted(text: list[str], rows: int) -> list[str]:
    """At most `rows` lines; the last one shows the number of omitted lines."""
    if len(text) <= rows:
        return text
    kept = max(rows - 1, 0)
    return [*text[:kept], f"… {len(text) - kept} more lines do not fit"]


def flat(nodes: Iterable[Node], above: str = "") -> Iterator[tuple[str, Node]]:
    """Each node with its path of titles, so that two trees can be compared line by line."""
    for node in nodes:
        path = f"{above} > {node.title}" if above else node.title
        yield path, node
        yield from flat(node.children, path)
