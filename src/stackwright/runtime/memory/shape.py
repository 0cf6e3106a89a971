"""Merge rules of fields under server-side apply: the lists that are maps or sets, and the declared fields.

For our kinds the rules come from the schemas of the CRDs, as in the API server. For built-in kinds a short table by
field name covers the fields that the operator writes; other fields are structs with atomic lists.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api.crd import KEEP, crd
from stackwright.api.meta import Kind
from stackwright.cloud.registry import RESOURCES

# Maps with arbitrary keys.
_MAPS = {"labels", "annotations", "data", "stringData", "binaryData", "limits", "requests"}
# Maps that are owned and replaced as one value.
_ATOMIC = {"selector", "labelSelector", "nodeSelector", "secretKeyRef", "configMapKeyRef", "fieldRef"}
# List → keys of its items; () for a set of scalars. All other lists are replaced as a whole.
_LISTS: Mapping[str, tuple[str, ...]] = {
    "ownerReferences": ("uid",),
    "finalizers": (),
    "conditions": ("type",),
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "volumeMounts": ("mountPath",),
    "ports": ("port", "protocol"),
}


@dataclass(frozen=True, eq=False)
class Shape:
    """The merge rules of one node; a node has only one Shape.

    children   declared fields, or None if any name is allowed
    free       undeclared fields are kept
    atomic     a map that is owned and replaced as a whole
    keys       keys that identify the items of a list; None for any other node
    """

    children: Mapping[str, Any] | None = None
    free: bool = False
    atomic: bool = False
    builtin: bool = False
    keys: tuple[str, ...] | None = None
    schema: Mapping[str, Any] | None = None

    @functools.cache  # noqa: B019 - shapes and schemas are kept until the end of the process
    def field(self, name: str) -> Shape:
        if self.builtin:
            return _builtin(name)
        if self.children is not None and name in self.children:
            return _of_schema(self.children[name]) if isinstance(self.children[name], dict) else self.children[name]
        extra = (self.schema or {}).get("additionalProperties")
        return _of_schema(extra) if isinstance(extra, dict) else FREE

    def declares(self, name: str) -> bool:
        """Whether the schema declares the name as a field; keys of maps are not declared."""
        return self.builtin or (self.children is not None and name in self.children)

    def item(self) -> Shape:
        """Shape of this list's items."""
        return BUILTIN if self.builtin else _of_schema((self.schema or {}).get("items") or {})

    def step(self, element: str) -> Shape:
        """Shape below one path element: `f:name` is a field, all others are items."""
        return self.field(element[2:]) if element.startswith("f:") else self.item()


FREE = Shape(free=True)
BUILTIN = Shape(builtin=True)


@functools.cache
def _builtin(name: str) -> Shape:
    return FREE if name in _MAPS else Shape(builtin=True, atomic=name in _ATOMIC, keys=_LISTS.get(name))


_SHAPES: dict[int, Shape] = {}


def _of_schema(schema: Mapping[str, Any]) -> Shape:
    """The shape of a schema node, cached by id of the node; the shape references the node, so the id stays valid."""
    found = _SHAPES.get(id(schema))
    if found is None:
        found = _shape(schema)
        if schema:  # an empty schema is a literal, not a node
            _SHAPES[id(schema)] = found
    return found


def _shape(schema: Mapping[str, Any]) -> Shape:
    keys = None
    if schema.get("x-kubernetes-list-type") == "map":
        keys = tuple(schema["x-kubernetes-list-map-keys"])
    elif schema.get("x-kubernetes-list-type") == "set":
        keys = ()
    atomic = schema.get("x-kubernetes-map-type") == "atomic"
    return Shape(schema.get("properties"), free=bool(schema.get(KEEP)), atomic=atomic, keys=keys, schema=schema)


@functools.cache
def _schemas() -> Mapping[tuple[str, str], Mapping[str, Any]]:
    return {
        (resource.KIND.group, resource.KIND.kind): crd(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        for resource in RESOURCES
    }


def schema_of(kind: Kind) -> Mapping[str, Any] | None:
    """The schema of one of our kinds; None for others."""
    return _schemas().get((kind.group, kind.kind))


@functools.cache
def shape_of(kind: Kind) -> Shape:
    schema = schema_of(kind)
    if schema is None:
        return BUILTIN
    envelope = {"apiVersion": BUILTIN, "kind": BUILTIN, "metadata": BUILTIN}
    return Shape(children={**envelope, **schema["properties"]}, schema=schema)


def default_status(kind: Kind) -> Any:
    """The status of an object of one of our kinds before the first report; None without one."""
    return ((schema_of(kind) or {}).get("properties") or {}).get("status", {}).get("default")


def with_defaults(schema: Mapping[str, Any], value: Any) -> Any:
    """The value with the schema's defaults in existing parents, as the API server stores it."""
    if isinstance(value, list):
        return [with_defaults(schema.get("items") or {}, item) for item in value]
    if not isinstance(value, dict):
        return value
    out = dict(value)
    for name, child in (schema.get("properties") or {}).items():
        if out.get(name) is None and "default" in child:
            out[name] = child["default"]
        if name in out:
            out[name] = with_defaults(child, out[name])
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        out.update({k: with_defaults(extra, v) for k, v in value.items()})
    return out


def missing_values(shape: Shape, value: Any) -> list[str]:
    """Errors for fields that are null or absent although the schema requires a value; free-form fields may be null."""
    schema = shape.schema
    if not schema:
        return []
    if value is None:
        return [" must not be null"] if schema.get("type") else []
    if isinstance(value, list):
        return [f"[{index}]{gap}" for index, item in enumerate(value) for gap in missing_values(shape.item(), item)]
    if not isinstance(value, dict):
        return []
    found = [f".{name} is required" for name in schema.get("required") or () if name not in value]
    return found + [
        f".{name}{gap}" for name, child in value.items() for gap in missing_values(shape.field(name), child)
    ]


def without_nulls(value: Any) -> Any:
    """The value without nulls, as the API server decodes typed built-in kinds."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return [without_nulls(v) for v in value] if isinstance(value, list) else value


def without_declared_nulls(shape: Shape, value: Any) -> Any:
    """The value without declared fields that are null; free-form fields are unchanged."""
    if isinstance(value, list):
        return [without_declared_nulls(shape.item(), item) for item in value] if shape.schema else value
    if not isinstance(value, dict) or not shape.schema:
        return value
    return {
        name: without_declared_nulls(shape.field(name), child)
        for name, child in value.items()
        if child is not None or not shape.declares(name)
    }


def unknown_fields(shape: Shape, value: Any) -> list[str]:
    """Paths of fields that the schema does not declare; the API rejects them under strict validation."""
    if shape.builtin or shape.schema is None:
        return []
    if isinstance(value, list):
        return [f"[{i}]{path}" for i, item in enumerate(value) for path in unknown_fields(shape.item(), item)]
    if not isinstance(value, dict):
        return []
    found = []
    closed = shape.children is not None and not shape.free
    for name, child in value.items():
        if closed and not shape.declares(name):
            found.append(f".{name}")
        else:
            found += [f".{name}{path}" for path in unknown_fields(shape.field(name), child)]
    return found
