"""Paths of the Kubernetes API. An invalid name is rejected, as it could change a path to that of another resource."""

from __future__ import annotations

from stackwright.adapters.kubernetes.errors import Call
from stackwright.api.fields.naming import GROUP, NAMESPACE, OBJECT, RESOURCE
from stackwright.api.meta import Kind
from stackwright.core.errors import TerminalError

SHOWN = 63  # characters of an invalid name in an error


def kind_path(kind: Kind, namespace: str = "") -> str:
    """The path of the objects of a kind, in one namespace or in all, of valid names."""
    parts = ["apis", kind.group, kind.version] if kind.group else ["api", kind.version]
    return "/".join([*parts, *(["namespaces", namespace] if namespace else []), kind.plural])


def collection_path(call: Call, namespace: str) -> str:
    """The path of the objects of a kind, in one namespace or in all. An apiVersion may be from a user's manifest."""
    kind = call.kind
    if not (RESOURCE.matches(kind.version) and RESOURCE.matches(kind.plural)) or (
        kind.group and not GROUP.matches(kind.group)
    ):
        named = f"{kind.group}/{kind.version}/{kind.plural}"
        raise TerminalError(f"{call.verb} {kind.kind[:SHOWN]}: {named[:SHOWN]!r} is not a resource of an API")
    if not (kind.namespaced and namespace):
        return kind_path(kind)
    if not NAMESPACE.matches(namespace):
        raise TerminalError(f"{call.verb} {kind.kind}: {namespace[:SHOWN]!r} is not the name of a namespace")
    return kind_path(kind, namespace)


def object_path(call: Call, namespace: str, name: str) -> str:
    """The path of one object."""
    if not OBJECT.matches(name) or (call.kind.namespaced and not namespace):
        raise TerminalError(f"{call.verb} {call.kind.kind}: {name[:SHOWN]!r} is not the name of an object")
    return f"{collection_path(call, namespace)}/{name}"
