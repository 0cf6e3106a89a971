"""The present cluster, as the base of a copy in memory. Values of Secrets are blanked, so no forecast can show them;
only the cause of a failed Helm release is kept.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping

from stackwright.api.kinds import JOB, POD, SECRET, WORKLOADS
from stackwright.api.meta import Kind
from stackwright.cloud.registry import RESOURCES
from stackwright.core.helm.records import cause_only
from stackwright.core.objects import key_of
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader
from stackwright.runtime import x509
from stackwright.runtime.memory import ceph
from stackwright.services.ceph.values import KEYS

BLANK = base64.b64encode(b"blank").decode()
UNSEEN = (*WORKLOADS, JOB, POD)


class Snapshot:
    """A Reader that reads each kind and namespace once from another Reader. Its Secrets have no values."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._lists: dict[tuple[Kind, str, tuple[tuple[str, str], ...]], list[Object]] = {}
        self._single: dict[tuple[Kind, Key], Object | None] = {}

    async def get(self, kind: Kind, key: Key) -> Object | None:
        if (kind, key) not in self._single:
            if _ours(kind):  # few objects, which are listed anyway
                found = [obj for obj in await self.list(kind, key[0]) if key_of(obj) == key]
                self._single[kind, key] = found[0] if found else None
            else:
                self._single[kind, key] = _blank(kind, await self._reader.get(kind, key))
        return self._single[kind, key]

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        if kind in UNSEEN and not (kind == POD and labels):  # a service reads the state of its own pods
            return []
        if labels and _ours(kind):
            every = await self.list(kind, namespace)
            return [obj for obj in every if labels.items() <= (obj["metadata"].get("labels") or {}).items()]
        query = (kind, namespace, tuple(sorted((labels or {}).items())))
        if query not in self._lists:
            found = await self._reader.list(kind, namespace, labels)
            self._lists[query] = [blank for obj in found if (blank := _blank(kind, obj)) is not None]
        return self._lists[query]


def _ours(kind: Kind) -> bool:
    return any(kind == resource.KIND for resource in RESOURCES)


def _blank(kind: Kind, obj: Object | None) -> Object | None:
    if obj is None or kind != SECRET:
        return obj
    # kubectl copies an applied Secret, with its values, into an annotation.
    notes = obj["metadata"].get("annotations") or {}
    notes = {name: "" if "last-applied" in name else text for name, text in notes.items()}
    meta = {**obj["metadata"], **({"annotations": notes} if notes else {})}
    blanks = {**dict.fromkeys(obj.get("data") or {}, BLANK), **cause_only(obj)}
    if meta["name"] == KEYS:
        blanks = ceph.blank(blanks)
    if "ca.key" in blanks:  # a forecast also issues certificates, by its own CA
        authority = x509.authority("forecast", time.time())
        blanks |= {name: base64.b64encode(text.encode()).decode() for name, text in authority.items()}
    return {**obj, "metadata": meta, "data": blanks}
