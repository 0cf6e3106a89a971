"""Who owns which field: sets of paths, in and out of the API's managedFields.

A path is a tuple of elements as FieldsV1 writes them: `f:name` a field, `k:{"type":"Ready"}` an item by its keys,
`v:"x"` an item of a set. Sets of paths make the algebra of server-side apply plain set operations.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from stackwright.runtime.memory.shape import Shape

Path = tuple[str, ...]
Paths = frozenset[Path]
MISSING: Any = object()


def element(shape: Shape, item: Any) -> str:
    """The identity of an item in a list of this shape; ports of containers and of Services differ in one key."""
    if not shape.keys:
        return "v:" + json.dumps(item)
    keys = ("containerPort" if key == "port" and key not in item else key for key in shape.keys)
    identity = {key: item.get(key, "TCP" if key == "protocol" else None) for key in keys}
    return "k:" + json.dumps(identity, sort_keys=True, separators=(",", ":"))


def paths_of(shape: Shape, value: Any, at: Path = ()) -> Paths:
    """What an applier of this value owns: leaves, empty maps, items, and keys that no schema declares."""
    if isinstance(value, dict) and not shape.atomic:
        found: set[Path] = set()
        for name, child in value.items():
            path = (*at, f"f:{name}")
            found |= paths_of(shape.field(name), child, path)
            if child == {} or not shape.declares(name):
                found.add(path)
        return frozenset(found)
    if isinstance(value, list) and shape.keys is not None:
        found = set()
        for item in value:
            path = (*at, element(shape, item))
            found |= {path} | paths_of(shape.item(), item, path)
        return frozenset(found)
    return frozenset({at})


def with_parents(shape: Shape, paths: Iterable[Path]) -> Paths:
    """Also the declared fields on the way: owning spec.a owns spec, so that an emptied spec goes too."""
    found = set(paths)
    for path in list(found):
        node = shape
        for depth, step in enumerate(path[:-1], 1):
            if step.startswith("f:") and node.declares(step[2:]):
                found.add(path[:depth])
            node = node.step(step)
    return frozenset(found)


def shape_at(shape: Shape, path: Path) -> Shape:
    for step in path:
        shape = shape.step(step)
    return shape


def value_at(shape: Shape, value: Any, path: Path) -> Any:
    """The value at a path, or MISSING."""
    for step in path:
        if step.startswith("f:"):
            value = value.get(step[2:], MISSING) if isinstance(value, dict) else MISSING
        elif isinstance(value, list):
            value = next((item for item in value if element(shape, item) == step), MISSING)
        else:
            return MISSING
        if value is MISSING:
            return MISSING
        shape = shape.step(step)
    return value


def without(shape: Shape, value: Any, paths: Paths) -> Any:
    """The value less the fields at these paths, with all that is below them.

    A map or list that is emptied becomes None: so does the API server, which then refuses it or drops it.
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
    """Paths as nested dicts; "." marks a member."""
    root: dict[str, Any] = {}
    for path in paths:
        node = root
        for step in path:
            node = node.setdefault(step, {})
        node["."] = {}
    return root


def fields_v1(paths: Paths) -> dict[str, Any]:
    """As managedFields shows it: a leaf is {}, a member with something below it has a "."."""

    def shown(node: dict[str, Any]) -> dict[str, Any]:
        return {} if set(node) == {"."} else {step: shown(node[step]) for step in sorted(node)}

    return shown(_tree(paths))


def from_fields_v1(node: Mapping[str, Any], at: Path = ()) -> Paths:
    found: set[Path] = set()
    for step, below in node.items():
        if step == ".":
            found.add(at)
        elif not below:
            found.add((*at, step))
        else:
            found |= from_fields_v1(below, (*at, step))
    return frozenset(found)
