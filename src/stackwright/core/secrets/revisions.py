"""Revisions of the spec of a cloud: one Secret each, because a spec may contain the key of a certificate. Pure.

`stackwright history --cloud` lists them and `stackwright rollback` restores one, as Helm does with its records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stackwright.api.meta import OURS
from stackwright.core.digest import digest
from stackwright.core.objects import DIGEST, OWNER, annotation, key_of, label, owner_label, secret_data
from stackwright.core.plan import Key, Object

NUMBER = f"{OURS}/revision"  # a label
FIELD = "spec.json"
_NUMBERED = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Revision:
    """number counts up from 1, digest is that of the spec, made is the creationTimestamp of the Secret."""

    number: int
    key: Key
    digest: str
    made: str


def of(cloud: Object, secrets: Iterable[Object]) -> list[Revision]:
    """The revisions of a cloud, the oldest first."""
    found = [
        Revision(
            int(label(each, NUMBER)),
            key_of(each),
            annotation(each, DIGEST),
            str(each["metadata"].get("creationTimestamp", "")),
        )
        for each in secrets
        if _NUMBERED.fullmatch(label(each, NUMBER)) and _is_owner(cloud, each)
    ]
    return sorted(found, key=lambda each: each.number)


def stored_spec(revision: Revision, secret: Object | None) -> dict[str, Any]:
    """The spec in the Secret of a revision. Raises ValueError if it contains none, or not the one that was stored."""
    try:
        spec = json.loads(secret_data(secret)[FIELD])
    except (KeyError, ValueError, RecursionError):
        spec = None
    if not isinstance(spec, dict):
        raise ValueError("contains no spec")
    if digest(spec) != revision.digest:
        raise ValueError("was changed: its spec is not the one that the operator stored")
    return spec


def _is_owner(cloud: Object, secret: Object) -> bool:
    references = secret["metadata"].get("ownerReferences") or ()
    return any(reference["uid"] == cloud["metadata"]["uid"] for reference in references)


def labels(cloud: Object) -> dict[str, str]:
    """Labels that select the Secrets of its revisions, and other Secrets of the cloud."""
    return {OWNER: owner_label(cloud)}


def name(cloud: Object, number: int) -> str:
    return f"{owner_label(cloud)}.v{number}"
