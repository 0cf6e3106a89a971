"""What Helm's own records say: release Secrets' labels as Release values.

Helm 3 keeps each revision of a release in a Secret and repeats in its labels what it looks for. The labels are
enough to decide, so the payload (compressed manifests and values, with whatever is in them) is never read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from stackwright.core.objects import label_value
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Release

DIGEST_LABEL = "stackwright.dev/digest"
BUNDLE_LABEL = "stackwright.dev/bundle"
SELECTOR = {"owner": "helm"}
_WAS_DEPLOYED = ("deployed", "superseded")


def releases(secrets: Iterable[Object]) -> dict[str, Release]:
    """The newest record of each release of one namespace, by name; Secrets that are no records are skipped."""
    records: dict[str, list[Release]] = {}
    for secret in secrets:
        record = _record(secret["metadata"])
        if record is not None:
            records.setdefault(record.name, []).append(record)
    return {name: _newest(found) for name, found in records.items()}


def revisions(secrets: Iterable[Object]) -> list[Release]:
    """Every record that is kept, by name and revision."""
    found = [record for secret in secrets if (record := _record(secret["metadata"])) is not None]
    return sorted(found, key=lambda record: (record.name, record.revision))


def bundle_label(key: Key) -> str:
    """What the records of a release say of the HelmBundle that it belongs to. A namespace has no dot."""
    return label_value(".".join(key))


def _record(meta: Mapping[str, object]) -> Release | None:
    labels = meta.get("labels")
    if not isinstance(labels, Mapping) or labels.get("owner") != "helm" or not labels.get("name"):
        return None
    return Release(
        name=str(labels["name"]),
        revision=_number(labels.get("version")),
        namespace=str(meta.get("namespace", "")),
        state=str(labels.get("status", "unknown")),
        digest=str(labels.get(DIGEST_LABEL, "")),
        bundle=str(labels.get(BUNDLE_LABEL, "")),
        # Helm writes modifiedAt when it changes a record, and takes it over into the records of later revisions. So the
        # label alone may be as old as the release, and a record is never older than its Secret.
        updated=max(float(_number(labels.get("modifiedAt"))), _seconds(meta.get("creationTimestamp"))),
        secret=str(meta.get("name", "")),
    )


def _newest(records: list[Release]) -> Release:
    newest = max(records, key=lambda record: record.revision)
    good = [r.revision for r in records if r.revision < newest.revision and r.state in _WAS_DEPLOYED]
    return replace(newest, deployed_revision=max(good, default=0))


def _seconds(stamp: object) -> float:
    """Of an RFC 3339 time as Kubernetes writes it."""
    return datetime.fromisoformat(stamp).timestamp() if isinstance(stamp, str) and stamp else 0.0


def _number(text: object) -> int:
    return int(text) if isinstance(text, str) and text.isdigit() else 0
