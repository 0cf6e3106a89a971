"""YAML text → documents as the Kubernetes API understands them. Any other text is refused.

YAML allows more than an object may contain: dates, keys that are not strings, tags, recursive lists, and a few
lines that expand to millions of values. PyYAML accepts these or fails with errors of its own, so each document is
checked as a graph of nodes, before it is converted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from stackwright.api.errors import name_of, shortened
from stackwright.core.bounds import DEEPEST

# Limits of one document; each alias counts with its expansion.
MOST = 100_000  # values
LONGEST = 16 << 20  # characters of all its texts; a file has no more bytes
LARGEST = 2**63 - 1
_TAG = "tag:yaml.org,2002:"
_STR, _MERGE = f"{_TAG}str", f"{_TAG}merge"
_SCALARS = {f"{_TAG}{name}" for name in ("bool", "float", "int", "null", "str")}
REPEATED = "an anchor (&name) of the document is defined a second time; choose another name"
_TEMPLATE = "a key must be a string; render templates such as {{ name }} first, or quote the string"


class BadDocument(ValueError):
    """`line` and `column` begin at 1; 0 if the place is unknown."""

    def __init__(self, text: str, line: int = 0, column: int = 0) -> None:
        super().__init__(text)
        self.line, self.column = line, column


def documents(text: str) -> Iterator[Any]:
    """All documents that are not empty. Raises BadDocument."""
    try:
        yield from (document for document in yaml.load_all(text, _Loader) if document is not None)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = str(error.problem or error.context)
        problem = REPEATED if problem == "second occurrence" else problem
        raise BadDocument(problem, *((mark.line + 1, mark.column + 1) if mark else ())) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadDocument(f"the character #x{error.character:04x} is not allowed in YAML", line) from None
    except (
        ValueError,
        OverflowError,
    ):  # of an escape sequence or a directive that the scanner cannot convert to a number
        raise BadDocument("an escape sequence or a directive contains a number that is too large") from None


class _Loader(yaml.SafeLoader):
    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: Node | None, index: Any) -> Any:
        if self._depth == DEEPEST:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise ConstructorError(None, None, f"nested deeper than {DEEPEST} levels", mark)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def construct_document(self, node: Any) -> Any:
        _check(node, [], _Size())
        return super().construct_document(node)

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        value = super().construct_object(node, deep)
        if isinstance(value, str) and not value.isascii() and re.search("[\ud800-\udfff]", value):
            raise _bad(node, "half of a character (a surrogate) is not allowed")
        return value


class _Size:
    """The size of a document so far."""

    def __init__(self) -> None:
        self.values = self.characters = 0

    def add(self, node: Node, values: int) -> None:
        """Raises ConstructorError if it is over a limit."""
        self.values += values
        self.characters += len(node.value) if isinstance(node, ScalarNode) else 0
        if self.values > MOST:
            raise _bad(node, f"more than {MOST} values in one document")
        if self.characters > LONGEST:
            raise _bad(node, f"more than {LONGEST >> 20} MiB of text in one document, including its expanded aliases")


def _check(node: Node, above: list[Node], size: _Size) -> None:
    """Raises ConstructorError if the Kubernetes API does not support it."""
    if any(node is each for each in above):
        raise _bad(node, "the value of this anchor contains itself")
    if len(above) > DEEPEST:
        raise _bad(node, f"nested deeper than {DEEPEST} levels")
    size.add(node, 1)
    if isinstance(node, ScalarNode):
        _check_scalar(node)
        return
    if node.tag != f"{_TAG}{'map' if isinstance(node, MappingNode) else 'seq'}":
        raise _bad(node, f"the tag {_short(node.tag)} is not allowed")
    path = [*above, node]
    if isinstance(node, SequenceNode):
        for item in node.value:
            _check(item, path, size)
        return
    seen: set[str] = set()
    for key, value in node.value:
        _check_key(key, seen)
        size.add(key, 0)
        _check(value, path, size)


def _check_key(key: Node, seen: set[str]) -> None:
    """Refuses a duplicate key: the first value would be lost silently."""
    if not isinstance(key, ScalarNode):
        raise _bad(key, _TEMPLATE)
    if key.tag == _MERGE:
        return
    if key.tag != _STR:
        raise _bad(
            key, f"a key must be a string, and YAML reads this one as another type; quote it: '{name_of(key.value)}'"
        )
    if key.value in seen:
        raise _bad(key, f"the key {name_of(key.value)} occurs twice in this mapping")
    seen.add(key.value)


def _check_scalar(node: ScalarNode) -> None:
    name = node.tag.removeprefix(_TAG)
    if node.tag not in _SCALARS:
        raise _bad(node, f"the tag {_short(node.tag)} is not allowed")
    if name in ("str", "null"):
        return
    try:
        value = getattr(yaml.constructor.SafeConstructor(), f"construct_yaml_{name}")(node)
        fits = math.isfinite(value) if isinstance(value, float) else abs(value) <= LARGEST
    except (ValueError, KeyError, IndexError, OverflowError):
        fits = False
    if not fits:
        raise _bad(node, "the Kubernetes API does not support this number; quote it if it is a string")


def _short(text: str) -> str:
    return shortened(text.replace(_TAG, "!!"), 40)


def _bad(node: Node, text: str) -> ConstructorError:
    return ConstructorError(None, None, text, node.start_mark)


# A date is a string, as in kubectl, and so is 22:30, which YAML 1.1 reads as a number of base 60.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, how) for tag, how in found if tag.removeprefix(_TAG) not in ("timestamp", "value", "int", "float")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    f"{_TAG}float",
    re.compile(
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?"
        r"|[0-9]+[eE][-+]?[0-9]+|\.(?:inf|Inf|INF))$|\.(?:nan|NaN|NAN)$"
    ),
    list("-+0123456789."),
)
_Loader.add_implicit_resolver(
    f"{_TAG}int",
    re.compile(r"[-+]?(?:0b[0-1_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$"),
    list("-+0123456789"),
)
