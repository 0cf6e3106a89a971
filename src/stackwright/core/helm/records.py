"""Helm release records: the labels of release Secrets as Release values.

Helm 3 stores each revision of a release in a Secret and repeats the fields it searches for in labels. Decisions use
only the labels. From the payload (compressed manifests and values, which may contain secrets) the operator keeps one
field: why a revision failed. `adapters/helm/records.py` checks the objects in it before Helm starts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from stackwright.api.errors import shortened
from stackwright.core.helm.manifests import Unreadable
from stackwright.core.objects import label_value
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Release

DIGEST_LABEL = "stackwright.dev/digest"
BUNDLE_LABEL = "stackwright.dev/bundle"
SELECTOR = {"owner": "helm"}
FAILED = "failed"
PAYLOAD = "release"  # key in the Secret
CHECKED = ("name", "namespace", "hooks", "manifest")  # fields of a record that are checked
_WAS_DEPLOYED = ("deployed", "superseded")
_GZIP = b"\x1f\x8b"
_READ = 256 * 1024  # bytes of a payload to unpack for `info`, its second field
_WHOLE = 8 * 1024 * 1024  # maximum bytes of an unpacked payload; Kubernetes stores at most 1 MiB, compressed
_SHORT = 1000  # characters
_MEMBERS = 100
_TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TOKEN = re.compile(rf"{_TEXT}|[\[\]{{}},]", re.DOTALL)
_NAME = re.compile(rf"\s*({_TEXT})\s*:", re.DOTALL)
_UNREADABLE = (ValueError, LookupError, TypeError, RecursionError, zlib.error)
_LONGEST = 300  # characters of a cause
_DIGITS = re.compile(r"[0-9]{1,10}")
_BEGIN = re.compile(r'^\w+ "[^"]*" failed: ')
_MOST = 4096  # characters of an error message that are searched for the first quoted value
# After these phrases the API server quotes values of an object, which may come from a Secret.
_QUOTES = re.compile(r"(?:Invalid|Duplicate|Unsupported) value:|Not found:|patch list:|, error found in #")


_TRANSIENT = re.compile(
    r"cluster unreachable|connection refused|i/o timeout|TLS handshake timeout|context deadline exceeded|EOF$"
    r"|another operation \(install/upgrade/rollback\) is in progress|the object has been modified"
    r"|etcdserver|too many requests|Internal error occurred|no endpoints available"
    r"|connection reset|http2: |already exists|being deleted|being terminated|server is currently unable",
    re.IGNORECASE | re.MULTILINE,
)


def is_transient(text: str) -> bool:
    """Whether an error message of Helm or the API server is transient, so that a retry may succeed."""
    return _TRANSIENT.search(text) is not None


def releases(secrets: Iterable[Object]) -> dict[str, Release]:
    """The newest record of each release in one namespace, by name; other Secrets are skipped."""
    records: dict[str, list[Release]] = {}
    for secret in secrets:
        record = _record(secret)
        if record is not None:
            records.setdefault(record.name, []).append(record)
    return {name: _newest(found) for name, found in records.items()}


def revisions(secrets: Iterable[Object]) -> list[Release]:
    """All stored records, sorted by name and revision."""
    found = [record for secret in secrets if (record := _record(secret)) is not None]
    return sorted(found, key=lambda record: (record.name, record.revision))


def bundle_label(key: Key) -> str:
    """Value of BUNDLE_LABEL, which names the HelmBundle of a release. Unambiguous, because a namespace has no dot."""
    return label_value(".".join(key))


def error_message(text: str) -> str:
    """Helm's error message in one line, without values of objects.

    It keeps the text before the first value and the problem of the last value. The time is linear in the text, which
    tenants control.
    """
    kept = text[:_MOST]
    if found := _QUOTES.search(kept):
        kept = kept[: found.start()] + (found.group() if found.group().endswith(":") else "")
        kept += f" …{_problem(text[found.end() :], ' is invalid: [' in kept)}" if kept.endswith(" value:") else ""
    return " ".join(kept.split())


def _problem(text: str, listed: bool) -> str:
    """The suffix `: <problem>` of a text that begins with a value; empty if the suffix may be part of a value.

    listed  whether the text ends a list of errors

    A value ends with a quotation mark, or with a closing bracket whose opening one precedes the suffix.
    """
    _, found, clause = (text.removesuffix("]") if listed else text).rpartition(": ")
    whole = all(clause.count(closing) <= clause.count(opening) for opening, closing in ("[]", "{}"))
    return f": {clause}" if found and whole and '"' not in clause and len(clause) < _MOST else ""


def cause_only(secret: Object) -> dict[str, str]:
    """The data of a release Secret to cache: the cause of a failed revision; empty if it did not fail."""
    cause = _cause(secret)
    if not cause:
        return {}
    record = json.dumps({"info": {"description": cause}}).encode()
    return {PAYLOAD: base64.b64encode(base64.b64encode(record)).decode()}


def _cause(secret: Object) -> str:
    labels = secret["metadata"].get("labels") or {}
    if labels.get("owner") != "helm" or labels.get("status") != FAILED:
        return ""
    text = error_message(_BEGIN.sub("", _description((secret.get("data") or {}).get(PAYLOAD))))
    return shortened(text, _LONGEST)


def _description(payload: object) -> str:
    """`info.description` of a record; empty if it cannot be read."""
    try:
        info = _unpacked(payload, _READ).partition('"info":')[2].lstrip()
        return str(json.JSONDecoder().raw_decode(info)[0]["description"])
    except _UNREADABLE:
        return ""


def manifest(secret: Object | None) -> str | None:
    """The objects of a revision as YAML, as Helm applied them; None if unreadable. Only for `plan`."""
    try:
        record = json.loads(_unpacked(((secret or {}).get("data") or {}).get(PAYLOAD), _WHOLE))
        return str(record["manifest"])
    except _UNREADABLE:
        return None


def manifest_digest(secret: Object | None) -> str:
    """SHA-256 of the objects of a revision, as Helm applied them and would again; empty if unreadable. Helm changes
    other fields of a record later, such as its status.
    """
    try:
        found = record_of(((secret or {}).get("data") or {}).get(PAYLOAD)).get("manifest")
    except Unreadable:
        return ""
    return hashlib.sha256(found.encode(errors="surrogatepass")).hexdigest() if isinstance(found, str) else ""


def record_name(release: str, revision: int) -> str:
    """Name of the Secret by which Helm finds a revision."""
    return f"sh.helm.release.v1.{release}.v{revision}"


def record_of(payload: object) -> dict[str, Any]:
    """The fields of a record by lower-case name, because Helm matches names without case. Raises Unreadable.

    Fields that are not in CHECKED have the value None: the chart and its values, the bulk of a record, are not parsed,
    so that a hostile record uses no memory. If they are invalid JSON, Helm cannot read the record at all.
    """
    try:
        text = _unpacked(payload, _WHOLE)
    except _UNREADABLE:
        raise Unreadable("cannot be read") from None
    fields: dict[str, Any] = {}
    for start, end in _members(text):
        found = _NAME.match(text, start, end)
        if found is None or len(fields) > _MEMBERS:
            raise Unreadable("cannot be read")
        name = str(_value(found[1])).casefold()
        if name in fields:
            raise Unreadable("has a duplicate field")
        fields[name] = _value(text[found.end() : end]) if name in CHECKED else None
    return fields


def _members(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each `"name": value` in a JSON object. Raises Unreadable."""
    depth, start = 0, 0
    for token in _TOKEN.finditer(text):
        found = token[0]
        if not depth and (found != "{" or text[: token.start()].strip()):
            break
        if found in ("{", "["):
            depth += 1
            start = start or token.end()
        elif depth == 1 and found in (",", "}"):
            yield start, token.start()
            start = token.end()
        if found in ("}", "]"):
            depth -= 1
            if not depth and not text[token.end() :].strip():
                return
    raise Unreadable("is not an object")


def _value(text: str) -> Any:
    """Parse a JSON value. Raises Unreadable for large values other than strings, and for invalid JSON."""
    text = text.strip()
    if len(text) > _SHORT and not text.startswith('"'):
        raise Unreadable("has a field that is too long")
    try:
        return json.loads(text, object_pairs_hook=tuple)
    except _UNREADABLE:
        raise Unreadable("cannot be read") from None


def _unpacked(payload: object, most: int) -> str:
    packed = base64.b64decode(base64.b64decode(str(payload)))
    record = zlib.decompressobj(wbits=31).decompress(packed, most) if packed.startswith(_GZIP) else packed
    return record.decode(errors="replace")


def _record(secret: Object) -> Release | None:
    meta = secret["metadata"]
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
        # Helm sets modifiedAt when it changes a record, and copies it into the records of later revisions. So the label
        # may be as old as the release, while a record is never older than its Secret.
        updated=max(float(_number(labels.get("modifiedAt"))), _seconds(meta.get("creationTimestamp"))),
        secret=str(meta.get("name", "")),
        cause=_cause(secret),
    )


def _newest(records: list[Release]) -> Release:
    newest = max(records, key=lambda record: record.revision)
    good = [r.revision for r in records if r.revision < newest.revision and r.state in _WAS_DEPLOYED]
    return replace(newest, deployed_revision=max(good, default=0))


def _seconds(stamp: object) -> float:
    """Seconds since the epoch for an RFC 3339 time from Kubernetes; 0 if absent."""
    return datetime.fromisoformat(stamp).timestamp() if isinstance(stamp, str) and stamp else 0.0


def _number(text: object) -> int:
    """The number in a label; 0 if it is not a number of at most 10 digits, since other clients may write labels."""
    return int(text) if isinstance(text, str) and _DIGITS.fullmatch(text) else 0
