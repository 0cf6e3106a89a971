"""The identity that marks the OpenStack resources of an object, independent of the object's UID. Pure.

The UID changes when `clusterctl move` or a backup tool recreates the object. The mark is a digest of kind, namespace,
name and origin: the Kubernetes cluster that first observed the object, and its UID there. The origin distinguishes
objects of the same name in two clusters that share a project, and an object from an earlier one of its name. It is an
annotation, so copies of an object share its mark; a later object of the same name has another mark.

A forged origin gives no access: the digest contains the object's own namespace, so no origin yields the mark of an
object in another namespace. Objects from an earlier version are marked by their UID alone. Their origin records that,
and is valid only while the object has that UID, which no user can choose.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import Any

from stackwright.api.meta import OURS, Kind
from stackwright.core.objects import OWNER, annotation, has_finalizer, is_deleting, key_of, label, owner_label
from stackwright.core.plan import Finalizer, Object

ORIGIN = f"{OURS}/origin"
_EARLIER = "uid:"


def origin_here(cluster: str, obj: Object) -> str:
    """The origin of an object first observed here; `cluster` is the UID of this cluster's namespace kube-system.

    An object with our finalizer but no origin has resources from an earlier version, which are marked by its UID.
    """
    uid = _uid(obj)
    return f"{_EARLIER}{uid}" if has_finalizer(obj) else _digest(cluster, key_of(obj)[0], uid)


def is_moved(cluster: str, obj: Object) -> bool:
    """Whether a backup or a move restored the object: its origin is neither its own nor its owner's in this cluster.

    Its resources may exist although its status is empty. Dependents inherit the origin of their owner.
    """
    owners = (str(each["uid"]) for each in obj["metadata"].get("ownerReferences") or ())
    here = {_digest(cluster, key_of(obj)[0], uid) for uid in (_uid(obj), *owners)}
    return annotation(obj, ORIGIN) not in {"", f"{_EARLIER}{_uid(obj)}", *here}


def identity(obj: Object, origin: str) -> str:
    """The identity for marks. A tenant's text is in it only as part of the digest."""
    known = annotation(obj, ORIGIN) or origin
    return _uid(obj) if known == f"{_EARLIER}{_uid(obj)}" else _digest(known, obj["kind"], *key_of(obj))


def is_guarded(obj: Object, origin: str) -> bool:
    """Whether the object has our finalizer and its origin, if any, is written; only then may resources be created."""
    return has_finalizer(obj) and bool(annotation(obj, ORIGIN) or not origin)


def guard(kind: Kind, obj: Object, origin: str) -> Finalizer:
    """The action that must succeed before any resource is created."""
    return Finalizer(kind, obj, True, {ORIGIN: origin} if origin else {})


def inherited(owner: Object) -> dict[str, str]:
    """The origin as an annotation for dependents of `owner`; none from an earlier version, which used their UIDs."""
    origin = annotation(owner, ORIGIN)
    return {ORIGIN: origin} if origin and not origin.startswith(_EARLIER) else {}


def is_restored(obj: Object | None, owner: Object) -> bool:
    """Whether `obj` was created for an owner of this kind and name, and its owner reference has an outdated UID."""
    if obj is None or is_deleting(obj) or label(obj, OWNER) != owner_label(owner):
        return False
    named = (owner["kind"], owner["metadata"]["name"])
    return all((each["kind"], each["name"]) == named for each in obj["metadata"].get("ownerReferences") or ())


def _uid(obj: Object) -> str:
    return str(obj["metadata"]["uid"])


def _digest(*parts: Any) -> str:
    """A digest in the form of a UID, as hard to guess as its parts."""
    return str(uuid.UUID(bytes=hashlib.sha256(json.dumps(parts).encode()).digest()[:16]))
