"""By what the things of an object are marked in an OpenStack, so that they outlive the object's uid. Pure.

The UID of an object changes when `clusterctl move` or a backup tool makes it anew. Its mark is a digest of its kind,
namespace and name, and of its origin: the Kubernetes cluster in which it was first seen, and its UID there. For two
clusters may have objects of the same name in one project, and one cluster one after the other. The origin is an
annotation of the object, so copies of the object have the same mark, and no later object of its name has it.

A forged origin gains nothing. The namespace of the object itself is part of the digest, so no origin leads to what
belongs to another namespace. Objects of an earlier version have marks of their UID alone, and their origin says so; it
counts as long as the object has that UID, which nobody can choose.
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
    """Of what is first seen here; `cluster` is the UID of this cluster's namespace kube-system.

    An object with our finalizer and without an origin had things before there were origins: they have its UID as mark.
    """
    uid = _uid(obj)
    return f"{_EARLIER}{uid}" if has_finalizer(obj) else _digest(cluster, key_of(obj)[0], uid)


def identity(obj: Object, origin: str) -> str:
    """Any text of a tenant's is only a part of the digest."""
    known = annotation(obj, ORIGIN) or origin
    return _uid(obj) if known == f"{_EARLIER}{_uid(obj)}" else _digest(known, obj["kind"], *key_of(obj))


def is_guarded(obj: Object, origin: str) -> bool:
    """Whether it cannot go unnoticed, and its origin is written down, so that things may be made for it."""
    return has_finalizer(obj) and bool(annotation(obj, ORIGIN) or not origin)


def guard(kind: Kind, obj: Object, origin: str) -> Finalizer:
    """What comes before anything is made."""
    return Finalizer(kind, obj, True, {ORIGIN: origin} if origin else {})


def inherited(owner: Object) -> dict[str, str]:
    """Annotations of what is made for an object. An earlier version marked that by a UID of its own."""
    origin = annotation(owner, ORIGIN)
    return {ORIGIN: origin} if origin and not origin.startswith(_EARLIER) else {}


def is_restored(obj: Object | None, owner: Object) -> bool:
    """Whether it was made for an object of this kind and name, and lost the reference to it with that one's UID."""
    if obj is None or is_deleting(obj) or label(obj, OWNER) != owner_label(owner):
        return False
    named = (owner["kind"], owner["metadata"]["name"])
    return all((each["kind"], each["name"]) == named for each in obj["metadata"].get("ownerReferences") or ())


def _uid(obj: Object) -> str:
    return str(obj["metadata"]["uid"])


def _digest(*parts: Any) -> str:
    """As long as the UID of an object, and as hard to guess as what it is made of."""
    return str(uuid.UUID(bytes=hashlib.sha256(json.dumps(parts).encode()).digest()[:16]))
