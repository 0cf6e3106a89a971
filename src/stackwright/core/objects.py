"""Builders and comparisons for Kubernetes objects that all controllers share."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from stackwright.api.meta import OURS, Kind
from stackwright.core.digest import LENGTH, digest
from stackwright.core.plan import Apply, Key, Object

DIGEST = f"{OURS}/digest"
OWNER = f"{OURS}/owner"
OPTIONS = f"{OURS}/options"  # of a Secret: digest of the fields that its users read only at start
EXPIRES = f"{OURS}/expires"  # of a Secret with a certificate: expiry, seconds since the epoch
AUTHORITY = f"{OURS}/authority"  # of a Secret with a certificate: the CA that issued it, by version_of
CLOUD = f"{OURS}/cloud"
ORPHAN = f"{OURS}/orphan"  # of an OpenStackDeployment: back ends to remove even if in use, as <service>/<name>,…
MANAGED = {"app.kubernetes.io/managed-by": "stackwright"}
EDITED = "edited by another client"  # the reason of an Apply that reverts the edit
FINALIZER = f"{OURS}/finalizer"
LABEL = 63
NO_TEXT = "surrogateescape"  # error handler that keeps bytes that are not UTF-8
MUST_BE_TEXT = "must be UTF-8 text"


def key_of(obj: Object) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def version_of(obj: Object | None) -> str:
    """Identifies a version of an object, also among successive objects of one name; empty without a resourceVersion."""
    meta = (obj or {}).get("metadata") or {}
    return f"{meta['uid']}-{meta['resourceVersion']}" if "resourceVersion" in meta else ""


def mapping(value: Any) -> Mapping[Any, Any]:
    """The value if it is a mapping, else an empty one: values of charts may have any shape."""
    return value if isinstance(value, Mapping) else {}


def owner_reference(obj: Object) -> Object:
    """An owner reference, with which Kubernetes garbage-collects dependents of an object."""
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owner_label(obj: Object) -> str:
    """Value of the label OWNER, which makes the dependents of an owner listable."""
    return label_value(f"{obj['kind'].lower()}.{obj['metadata']['name']}")


def owners(obj: Object) -> set[str]:
    """Owners of an object, as values of the label OWNER; empty for an object that a user created.

    Read from that label and from the controller reference, which may name a kind that Stackwright does not manage. UIDs
    are ignored, because dependents of an earlier owner of the same name are about to be garbage-collected. An object
    that the operator created without an owner belongs to the operator itself.
    """
    controller = controller_of(obj)
    named = {label_value(f"{controller['kind'].lower()}.{controller['name']}")} if controller else set()
    named |= {label(obj, OWNER)} - {""}
    return named or {value for name, value in MANAGED.items() if label(obj, name) == value}


def label_value(text: str) -> str:
    """A text shortened to the maximum length of a label value."""
    return shortened(text, LABEL)


def shortened(text: str, most: int) -> str:
    """A text of at most `most` characters; the end of a longer one is replaced by its digest."""
    return text if len(text) <= most else f"{text[: most - LENGTH - 1]}-{digest(text)}"


def owned(
    kind: Kind, key: Key, owner: Object, spec: Mapping[str, Any], labels: Mapping[str, str] | None = None
) -> Object:
    """An object that belongs to `owner`; its annotation holds the digest of the applied content."""
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": dict(spec)}
    return {
        **body,
        "metadata": {
            "name": key[1],
            "namespace": key[0],
            "labels": {**MANAGED, OWNER: owner_label(owner), **(labels or {})},
            # Covers the owner's UID: dependents of an earlier owner of that name are about to be garbage-collected.
            "annotations": {DIGEST: digest(body, dict(labels or {}), owner["metadata"]["uid"])},
            "ownerReferences": [owner_reference(owner)],
        },
    }


def completed(kind: Kind, obj: Object, spec: Mapping[str, Any]) -> tuple[Apply, ...]:
    """Apply fields that a controller adds to a user's spec, unless they are set already."""
    if covers(obj.get("spec"), spec):
        return ()
    identity = {name: obj["metadata"][name] for name in ("name", "namespace", "uid")}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": identity, "spec": dict(spec)}
    return (Apply(kind, body, "now known"),)


def ensure(kind: Kind, desired: Object, current: Object | None) -> tuple[Apply, ...]:
    """Apply the desired object, unless the digest is the same and all fields that we set are unchanged."""
    if current is None:
        return (Apply(kind, desired, "absent"),)
    if is_deleting(current):
        return ()
    if annotation(current, DIGEST) != annotation(desired, DIGEST):
        return (Apply(kind, desired, "changed"),)
    if not covers(current.get("spec"), desired.get("spec")):
        return (Apply(kind, desired, EDITED),)
    return ()


def controller_of(obj: Object) -> Object:
    """The owner reference with `controller: true`; empty if the object has none."""
    return next((ref for ref in obj.get("metadata", {}).get("ownerReferences") or () if ref.get("controller")), {})


def belongs(obj: Object | None, uid: str) -> bool:
    """Whether an owner reference has this UID; dependents of an earlier owner of that name have another one."""
    return any(ref.get("uid") == uid for ref in ((obj or {}).get("metadata") or {}).get("ownerReferences") or ())


def covers(current: Any, desired: Any) -> bool:
    """Whether every desired field has the desired value; further fields of the current object are ignored."""
    if current == desired:  # the usual case
        return True
    if isinstance(desired, Mapping):
        return isinstance(current, Mapping) and all(covers(current.get(k), v) for k, v in desired.items())
    if isinstance(desired, list):
        return (
            isinstance(current, list)
            and len(current) == len(desired)
            and all(covers(a, b) for a, b in zip(current, desired, strict=True))
        )
    return False


def annotation(obj: Mapping[str, Any] | None, name: str) -> str:
    return str((((obj or {}).get("metadata") or {}).get("annotations") or {}).get(name, ""))


def label(obj: Mapping[str, Any] | None, name: str) -> str:
    return str((((obj or {}).get("metadata") or {}).get("labels") or {}).get(name, ""))


def is_deleting(obj: Object | None) -> bool:
    return bool(obj and obj["metadata"].get("deletionTimestamp"))


def has_finalizer(obj: Object) -> bool:
    return FINALIZER in (obj["metadata"].get("finalizers") or ())


def generation(obj: Object) -> int:
    return int(obj["metadata"].get("generation") or 0)


def secret_data(secret: Any) -> dict[str, str]:
    """The decoded data of a Secret from the API. Encoding with NO_TEXT restores values that are not UTF-8."""
    return {k: base64.b64decode(v).decode(errors=NO_TEXT) for k, v in ((secret or {}).get("data") or {}).items()}


def is_text(value: str) -> bool:
    """Whether a value of a Secret is UTF-8; other bytes are kept by NO_TEXT, and cannot be sent or stored as text."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
