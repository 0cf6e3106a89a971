"""What is wrong with the parts of an object that all kinds have, as the API server would report it. Pure.

The API server reports it only when the object is sent, and then for one object at a time; a file is checked as a whole.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any

from stackwright.api import naming
from stackwright.api.errors import shown
from stackwright.api.kinds import CONFIGMAP, NAMESPACE, SECRET
from stackwright.api.meta import Kind

Object = Mapping[str, Any]
_SPEC = ("spec", "status")
_FIELDS = {
    NAMESPACE.kind: _SPEC,
    SECRET.kind: ("data", "stringData", "type", "immutable"),
    CONFIGMAP.kind: ("data", "binaryData", "immutable"),
}
_BINARY = {("Secret", "data"), ("ConfigMap", "binaryData")}
_WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_QUALIFIED = "is no name of a label or annotation, such as app or example.org/app"
_KNOWN = (
    "annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers",
    "generateName", "generation", "labels", "managedFields", "name", "namespace", "ownerReferences",
    "resourceVersion", "selfLink", "uid",
)  # fmt: skip


def envelope_errors(document: Object, kind: Kind) -> list[str]:
    """Of everything but the spec."""
    errors = []
    if document.get("apiVersion") not in kind.api_versions:
        allowed = ", ".join(kind.api_versions)
        given = document.get("apiVersion")
        told = "is required" if given is None else f"{shown(given)} is not that of {kind}"
        errors.append(f"apiVersion: {told}; allowed: {allowed}")
    errors += _metadata(document.get("metadata"), kind)
    fields = ("apiVersion", "kind", "metadata", *_FIELDS.get(kind.kind, _SPEC))
    told = ", ".join(field for field in fields if field != "status")
    errors += [f"{key}: unknown field; allowed: {told}" for key in document if key not in fields]
    for field in ("data", "stringData", "binaryData"):
        if field in document and field in fields:
            errors += _data(kind.kind, field, document[field])
    return errors


def _metadata(meta: Any, kind: Kind) -> list[str]:
    if not isinstance(meta, dict):
        return ["metadata: is required, with a name"]
    errors = [f"metadata.{key}: unknown field; allowed: {', '.join(_KNOWN)}" for key in meta if key not in _KNOWN]
    errors += _name("name", meta.get("name"), naming.NAMESPACE if kind == NAMESPACE else naming.OBJECT)
    if meta.get("namespace") is not None:
        if kind.namespaced:
            errors += _name("namespace", meta["namespace"], naming.NAMESPACE)
        else:
            errors.append(f"metadata.namespace: a {kind} is in no namespace; remove it")
    errors += _texts("labels", meta.get("labels"), _label_value)
    errors += _texts("annotations", meta.get("annotations"), lambda value: "")
    return errors


def _name(field: str, value: Any, valid: naming.Format) -> list[str]:
    if value is None or value == "":
        return [f"metadata.{field}: is required"]
    if not isinstance(value, str):
        return [f"metadata.{field}: takes text; quote it"]
    return [] if valid.matches(value) else [f"metadata.{field}: {valid.message}"]


def _texts(field: str, value: Any, wrong: Callable[[str], str]) -> list[str]:
    """Labels or annotations: qualified name → text."""
    if value is None:
        return []
    if not isinstance(value, dict):
        return [f"metadata.{field}: takes a mapping of names to texts"]
    errors = []
    for key, text in value.items():
        prefix, slash, name = key.rpartition("/")
        if not _WORD.fullmatch(name) or (slash and not naming.OBJECT.matches(prefix)):
            errors.append(f"metadata.{field}: {key!r} {_QUALIFIED}")
        elif not isinstance(text, str):
            errors.append(f"metadata.{field}.{key}: takes text; quote it")
        elif told := wrong(text):
            errors.append(f"metadata.{field}.{key}: {told}")
    return errors


def _label_value(text: str) -> str:
    if not text or _WORD.fullmatch(text):
        return ""
    return "takes at most 63 letters, digits, -, _ and ., with a letter or digit at both ends"


def _data(kind: str, field: str, value: Any) -> list[str]:
    """Of a Secret or ConfigMap; values are never repeated."""
    if value is None:
        return []
    if not isinstance(value, dict):
        return [f"{field}: takes a mapping of keys to texts"]
    errors = []
    for key, text in value.items():
        if not naming.SECRET_KEY.matches(key):
            errors.append(f"{field}: {key!r} is no key: it {naming.SECRET_KEY.message}")
        elif text is not None and not isinstance(text, str):
            errors.append(f"{field}.{key}: takes text; quote it")
        elif text is not None and (kind, field) in _BINARY and not _is_base64(text):
            errors.append(
                f"{field}.{key}: takes base64" + ("; plain text goes to stringData" if kind == "Secret" else "")
            )
    return errors


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
