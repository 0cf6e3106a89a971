"""Field ownership as sets of paths, with conversion from and to managedFields.

A path is a tuple of elements in FieldsV1 notation: `f:name` is a field, `k:{"type":"Ready"}` an item by its keys,
`v:"x"` an item of a set. With sets of paths, server-side apply consists of plain set operations.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from stackwright.runtime.memory.shape import Shape

Path = tuple[str, ...]
Paths = frozenset[Path]
MISSING: Any = object()
_IDENTITY = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def element(shape: Shape, item: Any) -> str:
    """The identity of an item in a list of this shape; ports of containers have the key containerPort, not port.

    Lists of other kinds may have these names too, and items of any type.
    """
    if not shape.keys or not isinstance(item, Mapping):
        return "v:" + json.dumps(item)
    keys = ("containerPort" if key == "port" and key not in item else key for key in shape.keys)
    identity = {key: item.get(key, "TCP" if key == "protocol" else None) for key in keys}
    return "k:" + _IDENTITY(identity)


def paths_of(shape: Shape, value: Any) -> Paths:
    """Paths that an applier of this value owns: leaves, empty maps, items, and keys that no schema declares."""
    found: set[Path] = set()
    _collect(shape, value, (), found)
    return frozenset(found)


def _collect(shape: Shape, value: Any, at: Path, found: set[Path]) -> None:
    if isinstance(value, dict) and not shape.atomic:
        for name, child in value.items():
            path = (*at, f"f:{name}")
            _collect(shape.field(name), child, path, found)
            if child == {} or not shape.declares(name):
                found.add(path)
    elif isinstance(value, list) and shape.keys is not None:
        for item in value:
            path = (*at, element(shape, item))
            found.add(path)
            _collect(shape.item(), item, path, found)
    else:
        found.add(at)


def with_parents(shape: Shape, paths: Iterable[Path]) -> Paths:
    """The paths and the declared fields above them: an owner of spec.a owns spec, so an emptied spec is removed too."""
    found = set(paths)
    for path in list(found):
        node = shape
        for depth, step in enumerate(path[:-1], 1):
            if step.startswith("f:") and node.declares(step[2:]):
                found.add(path[:depth])
            node = node.step(step)
    return frozenset(found)


def changed(shape: Shape, before: Any, after: Any, at: Path = ()) -> Iterator[Path]:
    """Paths at which two values differ: leaves, atomic maps, and the topmost path of parts that only one value has.

    A container that exists in both values is not such a path, and a map that becomes null is treated as existing.
    """
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict | None) and not shape.atomic:
        below = after or {}
        for name in before.keys() | below.keys():
            here = (*at, f"f:{name}")
            yield from changed(shape.field(name), before.get(name, MISSING), below.get(name, MISSING), here)
    elif isinstance(before, list) and isinstance(after, list) and shape.keys is not None:
        was, now = ({element(shape, item): item for item in items} for items in (before, after))
        for key in was.keys() | now.keys():
            yield from changed(shape.item(), was.get(key, MISSING), now.get(key, MISSING), (*at, key))
    else:
        yield at


def lost(paths: Paths, changes: Collection[Path]) -> Paths:
    """The paths at which, or above which, a change occurred."""
    tops = {path[0] for path in changes}
    return frozenset(
        path for path in paths if path[0] in tops and any(path[:end] in changes for end in range(1, len(path) + 1))
    )


def without(shape: Shape, value: Any, paths: Paths) -> Any:
    """The value without the fields at these paths and everything below them.

    An emptied map or list becomes None, as in the API server, which then rejects or drops it.
    """
    return _without(shape, value, _tree(paths))


def _without(shape: Shape, value: Any, tree: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        out = {}
        for name, child in value.items():
            below = tree.get(f"f:{name}")
            if below is None:
                out[name] = child
            elif "." not in below:
                out[name] = _without(shape.field(name), child, below)
        return out or (None if value else value)
    if isinstance(value, list) and shape.keys is not None:
        kept = []
        for item in value:
            below = tree.get(element(shape, item))
            if below is None:
                kept.append(item)
            elif "." not in below:
                kept.append(_without(shape.item(), item, below))
        return kept or (None if value else value)
    return value


def _tree(paths: Iterable[Path]) -> dict[str, Any]:
    """Paths as nested dicts; "." marks the end of a path."""
    root: dict[str, Any] = {}
    for path in paths:
        node = root
        for step in path:
            node = node.setdefault(step, {})
        node["."] = {}
    return root


@functools.lru_cache(maxsize=1024)
def fields_v1(paths: Paths) -> Mapping[str, Any]:
    """Paths as FieldsV1: a leaf is {}, an owned path with owned children has a member "."."""

    def shown(node: dict[str, Any]) -> dict[str, Any]:
        return {} if set(node) == {"."} else {step: shown(node[step]) for step in sorted(node)}

    return shown(_tree(paths))


def from_fields_v1(node: Mapping[str, Any]) -> Paths:
    return frozenset(_members(node, ()))


def _members(node: Mapping[str, Any], at: Path) -> Iterator[Path]:
    for step, below in node.items():
        if step == ".":
            yield at
        elif not below:
            yield (*at, step)
        else:
            yield from _members(below, (*at, step))
