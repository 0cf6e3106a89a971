"""Builders and comparisons that all controllers share: an object of ours, and whether the cluster has it as wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.api.meta import OURS, Kind
from stackwright.core.digest import LENGTH, digest
from stackwright.core.plan import Apply, Key, Object

DIGEST = f"{OURS}/digest"
OWNER = f"{OURS}/owner"
OPTIONS = f"{OURS}/options"  # of a Secret: digest of what in it is read at the start only
EXPIRES = f"{OURS}/expires"  # of a certificate: seconds since the epoch
CLOUD = f"{OURS}/cloud"
ORPHAN = f"{OURS}/orphan"  # of an OpenStackDeployment: back ends that may be given up, as <service>/<name>,…
MANAGED = {"app.kubernetes.io/managed-by": "stackwright"}
FINALIZER = f"{OURS}/finalizer"
LABEL = 63


def key_of(obj: Object) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def owner_reference(obj: Object) -> Object:
    """An ownerReference by which Kubernetes removes what belongs to an object."""
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owner_label(obj: Object) -> str:
    """Label value that names an owner, so that what it owns can be listed."""
    return label_value(f"{obj['kind'].lower()}.{obj['metadata']['name']}")


def owners(obj: Object) -> set[str]:
    """Who an object belongs to, as values of the label OWNER; empty for one that a user made.

    By that label and by its controller, which need not be ours. Identities do not count: what an earlier owner of the
    same name left is about to be collected. What the operator made for no owner is its own.
    """
    controller = controller_of(obj)
    named = {label_value(f"{controller['kind'].lower()}.{controller['name']}")} if controller else set()
    named |= {label(obj, OWNER)} - {""}
    return named or {value for name, value in MANAGED.items() if label(obj, name) == value}


def label_value(text: str) -> str:
    """A text no longer than a label may be."""
    return shortened(text, LABEL)


def shortened(text: str, most: int) -> str:
    """A text of ours with so many characters; the end of one that is too long is replaced by its digest."""
    return text if len(text) <= most else f"{text[: most - LENGTH - 1]}-{digest(text)}"


def owned(
    kind: Kind, key: Key, owner: Object, spec: Mapping[str, Any], labels: Mapping[str, str] | None = None
) -> Object:
    """An object of ours that belongs to another one; its annotation tells the digest of what we apply."""
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": dict(spec)}
    return {
        **body,
        "metadata": {
            "name": key[1],
            "namespace": key[0],
            "labels": {**MANAGED, OWNER: owner_label(owner), **(labels or {})},
            # With the owner's identity: what an earlier owner of that name left is about to be collected.
            "annotations": {DIGEST: digest(body, dict(labels or {}), owner["metadata"]["uid"])},
            "ownerReferences": [owner_reference(owner)],
        },
    }


def completed(kind: Kind, obj: Object, spec: Mapping[str, Any]) -> tuple[Apply, ...]:
    """Fields that a controller adds to a spec which is the user's; nothing where they are there."""
    if covers(obj.get("spec"), spec):
        return ()
    identity = {name: obj["metadata"][name] for name in ("name", "namespace", "uid")}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": identity, "spec": dict(spec)}
    return (Apply(kind, body, "now known"),)


def ensure(kind: Kind, desired: Object, current: Object | None) -> tuple[Apply, ...]:
    """Apply what is wanted, unless the cluster has it: same digest, and nobody edited the fields we set."""
    if current is None:
        return (Apply(kind, desired, "absent"),)
    if is_deleting(current):
        return ()
    if annotation(current, DIGEST) != annotation(desired, DIGEST):
        return (Apply(kind, desired, "changed"),)
    if not covers(current.get("spec"), desired.get("spec")):
        return (Apply(kind, desired, "edited by someone else"),)
    return ()


def controller_of(obj: Object) -> Object:
    """The reference to the object that controls this one; empty for none."""
    return next((ref for ref in obj["metadata"].get("ownerReferences") or () if ref.get("controller")), {})


def belongs(obj: Object | None, uid: str) -> bool:
    """Whether an object is owned by just this object; one of an earlier owner of that name is about to be collected."""
    return any(ref.get("uid") == uid for ref in ((obj or {}).get("metadata") or {}).get("ownerReferences") or ())


def covers(current: Any, desired: Any) -> bool:
    """Whether every wanted field has the wanted value; fields that only the cluster has do not count."""
    if current == desired:  # as it is most times
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
