"""The reasons of conditions and Events in the source code."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

from stackwright.core.openstack.errors import Reason
from support.paths import ROOT

SOURCE = ROOT / "src/stackwright"
FOLDERS = ("adapters", "controllers", "core", "runtime", "services")
# Function or class → position of the reason among its arguments.
BLOCKED = {"blocked": 1, "TerminalCloudError": 0}  # these put "Blocked" before it
POSITION = BLOCKED | {
    **{"waiting": 2, "waiting_for": 3, "done": 2, "Condition": 2},
    **{"TransientCloudError": 0, "Late": 0, "Deferred": 0},
    **{"Warn": 1, "event": 1, "_Cause": 0},
}
Names = dict[str, set[str]]


class Reasons:
    """found    texts, members of Reason and constants that are given as a reason or assigned to the name `reason`
    unknown  expressions that are given as a reason, are none of these, and repeat no other reason either
    """

    def __init__(self) -> None:
        self.found, self.unknown = set[str](), set[str]()
        self._everywhere: Names = defaultdict(set)
        modules = [
            [*ast.walk(ast.parse(path.read_text()))] for name in FOLDERS for path in (SOURCE / name).rglob("*.py")
        ]
        constants = [self._constants(nodes) for nodes in modules]
        for nodes, own in zip(modules, constants, strict=True):
            self.found |= own.get("reason", set())
            for node in nodes:
                if isinstance(node, ast.Call):
                    self._call(node, {**self._everywhere, **own})

    def _constants(self, nodes: list[ast.AST]) -> Names:
        """The constants of a module, and what it assigns to the name `reason`."""
        own: Names = defaultdict(set)
        for node in nodes:
            if isinstance(node, ast.Assign):
                for name, value in _assigned(node.targets[0], node.value):
                    if name.isupper() or name == "reason":
                        own[name] |= _texts(value, own)
        for name, texts in own.items():
            self._everywhere[name] |= texts
        return own

    def _call(self, node: ast.Call, names: Mapping[str, set[str]]) -> None:
        function = str(getattr(node.func, "id", "") or getattr(node.func, "attr", ""))
        if function not in POSITION or ast.unparse(node.func) == "kopf.on.event":
            return
        prefix = "Blocked" if function in BLOCKED else ""
        given = [*node.args[POSITION[function] :][:1], *(each.value for each in node.keywords if each.arg == "reason")]
        for value in given:
            texts = _texts(value, names)
            self.found |= {prefix + text.removeprefix(prefix) for text in texts}
            if not texts and not {"reason", "cause"} & {*_words(value)}:
                self.unknown.add(ast.unparse(node))


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for each, part in zip(target.elts, value.elts, strict=True):
            yield from _assigned(each, part)
    elif isinstance(target, ast.Name):
        yield target.id, value


def _texts(value: ast.expr, names: Mapping[str, set[str]]) -> set[str]:
    match value:
        case ast.Constant(str(text)) if text:
            return {text}
        case ast.Attribute(ast.Name("Reason"), member):
            return {Reason[member].value}
        case ast.Name(name) | ast.Attribute(ast.Name(_), name) if name.isupper():
            return names.get(name, set())
        case ast.IfExp(_, one, other):
            return _texts(one, names) | _texts(other, names)
        case ast.BoolOp(_, values):
            return {text for each in values for text in _texts(each, names)}
        case ast.Call(ast.Name("str"), [inner]):
            return _texts(inner, names)
    return set()


def _words(value: ast.expr) -> Iterator[str]:
    """Names of variables, fields and keys in an expression."""
    for node in ast.walk(value):
        match node:
            case ast.Name(word) | ast.Attribute(_, word) | ast.Constant(str(word)):
                yield word
