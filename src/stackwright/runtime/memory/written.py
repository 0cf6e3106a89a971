"""The checks of the API server for a written object, and the fields that it adds and drops."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from stackwright.api.kinds import JOB, POD, WORKLOADS
from stackwright.api.meta import Kind
from stackwright.cloud.registry import BY_KIND
from stackwright.core.errors import Conflict, TerminalError, UndeclaredStatus
from stackwright.core.plan import Key, Object
from stackwright.runtime.memory.ownership import element
from stackwright.runtime.memory.shape import (
    Shape,
    missing_values,
    schema_of,
    shape_of,
    unknown_fields,
    with_defaults,
    without_nulls,
)


def key_of(kind: Kind, obj: Object) -> Key:
    meta = obj["metadata"]
    return (meta.get("namespace", "") if kind.namespaced else "", meta["name"])


def has_status(kind: Kind) -> bool:
    """Whether the status is a subresource, which other writes do not change."""
    return "." in kind.group or kind in (*WORKLOADS, JOB, POD)


def spec_of(obj: Object) -> Object:
    return {k: v for k, v in obj.items() if k not in ("metadata", "status")}


def expect(kind: Kind, key: Key, wanted: Object, live: Object | None) -> None:
    """Raises Conflict if the written uid or resourceVersion, which are preconditions, differ from the live object."""
    there = (live or {}).get("metadata") or {}
    for name, what in (("uid", "another object has this name now"), ("resourceVersion", "it has been modified")):
        if wanted.get(name) and wanted[name] != there.get(name):
            raise Conflict(f"{kind.kind} {'/'.join(key)}: {what}", kind, key)


def refuse_new_finalizers(before: Object, new: Object) -> None:
    if new["metadata"].get("deletionTimestamp"):
        had = (before.get("metadata") or {}).get("finalizers") or ()
        if added := sorted(set(new["metadata"].get("finalizers") or ()) - set(had)):
            raise TerminalError(
                f"metadata.finalizers: no new ones on an object that is being deleted: {', '.join(added)}"
            )


def refuse_unknown(kind: Kind, obj: Object) -> None:
    unknown = unknown_fields(shape_of(kind), obj)
    if unknown:
        lines = "; ".join(f"{path}: field not declared in schema" for path in unknown)
        name = "/".join(key_of(kind, obj)) if "metadata" in obj else "status"
        text = f"apply {kind.kind} {name}: {lines}"
        of_status = [path.removeprefix(".status.") for path in unknown if path.startswith(".status.")]
        raise UndeclaredStatus(text, of_status) if of_status else TerminalError(text)
    if twice := list(_duplicates(shape_of(kind), obj)):  # such as two conditions of one type
        raise TerminalError(f"apply {kind.kind}: {'; '.join(twice)}")


def _duplicates(shape: Shape, value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, child in value.items():
            yield from _duplicates(shape.field(name), child, f"{path}.{name}")
    elif isinstance(value, list) and shape.keys is not None:
        count = Counter(element(shape, item)[2:] for item in value)
        yield from (f"{path}: duplicate entries for key {key}" for key, number in count.items() if number > 1)


def completed(kind: Kind, obj: Object, live: Object | None = None) -> Object:
    """The object with defaults. Raises TerminalError with all errors of an invalid one, unless its spec is
    unchanged.
    """
    schema = schema_of(kind)
    if schema is None:
        plain: Object = _folded(without_nulls(obj))
        return {**plain, "metadata": _typed_metadata(plain)}
    new: Object = with_defaults(schema, obj)
    new["metadata"] = _typed_metadata(new)
    where = f"apply {kind.kind} {'/'.join(key_of(kind, obj))}"
    if wrong := missing_values(shape_of(kind), new):
        raise TerminalError(f"{where}: {'; '.join(wrong)}")
    if live is not None and spec_of(live) == spec_of(new):
        return new
    try:
        BY_KIND[kind.kind].model_validate({k: v for k, v in new.items() if k in ("metadata", "spec")})
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise TerminalError(f"{where}: {'; '.join(lines)}") from None
    return new


def _typed_metadata(obj: Object) -> Object:
    """Metadata without empty fields, as the server's typed struct drops them; `_store` adds managedFields."""
    written = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {name: value for name, value in without_nulls(written).items() if value not in ({}, [])}


def _folded(obj: Object) -> Object:
    """A Secret with stringData encoded into data, as the API server stores it."""
    if obj.get("kind") != "Secret" or "stringData" not in obj:
        return obj
    plain = obj["stringData"] or {}
    encoded = {name: b64encode(str(value).encode()).decode() for name, value in plain.items()}
    kept = {name: value for name, value in obj.items() if name != "stringData"}
    return {**kept, "data": {**(obj.get("data") or {}), **encoded}}


_SERVER = (
    "uid",
    "creationTimestamp",
    "generation",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


def server_fields(live: Object | None) -> Object:
    """Metadata that only the server sets."""
    meta = (live or {}).get("metadata") or {}
    return {name: meta[name] for name in _SERVER if name in meta}


def content(obj: Object) -> Object:
    meta = {k: v for k, v in obj["metadata"].items() if k not in ("managedFields", "resourceVersion", "generation")}
    return {**obj, "metadata": meta}
