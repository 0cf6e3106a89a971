"""Validates the fields that all kinds have, as the API server would. Pure.

The API server validates one object per request; here all objects of a file are validated before any request.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any

from stackwright.api.errors import name_of, shown, shown_name
from stackwright.api.fields import naming
from stackwright.api.fields.labels import QUALIFIED, VALUE, is_qualified, is_value
from stackwright.api.kinds import CONFIGMAP, NAMESPACE, SECRET
from stackwright.api.meta import Kind
from stackwright.api.wording import choices
from stackwright.controllers.infra.clusterapi import written_shape
from stackwright.core.shapes import ListOf, Struct, misfits

Object = Mapping[str, Any]
_SPEC = ("spec", "status")
_FIELDS = {
    NAMESPACE.kind: _SPEC,
    SECRET.kind: ("data", "stringData", "type", "immutable"),
    CONFIGMAP.kind: ("data", "binaryData", "immutable"),
}
# The types of the other fields; `_data` checks those that may be secret.
_SHAPES = {
    NAMESPACE.kind: Struct({"spec": Struct({"finalizers": ListOf(str)})}),
    SECRET.kind: Struct({"type": str, "immutable": bool}),
    CONFIGMAP.kind: Struct({"immutable": bool}),
}
_BINARY = {("Secret", "data"), ("ConfigMap", "binaryData")}
_TEXT, _NUMBER, _TIME = "takes text; quote it", "takes a whole number", "takes a time such as 2026-01-31T12:00:00Z"
# Fields that the API server sets; exported objects contain them.
_SCALARS = {
    "uid": _TEXT, "resourceVersion": _TEXT, "generateName": _TEXT, "selfLink": _TEXT,
    "generation": _NUMBER, "deletionGracePeriodSeconds": _NUMBER,
    "creationTimestamp": _TIME, "deletionTimestamp": _TIME,
}  # fmt: skip
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_OWNER = ("apiVersion", "kind", "name", "uid")
_OF_OWNERS = ("blockOwnerDeletion", "controller")
_KNOWN = (
    "annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers",
    "generateName", "generation", "labels", "managedFields", "name", "namespace", "ownerReferences",
    "resourceVersion", "selfLink", "uid",
)  # fmt: skip


def envelope_errors(document: Object, kind: Kind) -> list[str]:
    """Errors of all fields but the spec."""
    errors = []
    if document.get("apiVersion") not in kind.api_versions:
        given = document.get("apiVersion")
        problem = "is required" if given is None else f"{shown_name(given)} is not an apiVersion of {kind}"
        errors.append(f"apiVersion: {problem}; {choices(given, kind.api_versions)}")
    errors += _metadata(document.get("metadata"), kind)
    fields = ("apiVersion", "kind", "metadata", *_FIELDS.get(kind.kind, _SPEC))
    wanted = [field for field in fields if field != "status"]
    errors += [f"{name_of(key)}: unknown field; {choices(key, wanted)}" for key in document if key not in fields]
    for field in ("data", "stringData", "binaryData"):
        if field in document and field in fields:
            errors += _data(kind.kind, field, document[field])
    return errors


def companion_errors(document: Object, kind: Kind) -> list[str]:
    """Errors in the types of fields, for kinds that are not ours; the API server checks the rest."""
    return list(misfits(document, _SHAPES.get(kind.kind) or written_shape(kind), ""))


def _metadata(meta: Any, kind: Kind) -> list[str]:
    if not isinstance(meta, dict):
        return ["metadata: is required, with a name"]
    errors = [f"metadata.{name_of(key)}: unknown field; {choices(key, _KNOWN)}" for key in meta if key not in _KNOWN]
    errors += _name("name", meta.get("name"), naming.NAMESPACE if kind == NAMESPACE else naming.OBJECT)
    if meta.get("namespace") is not None:
        if kind.namespaced:
            errors += _name("namespace", meta["namespace"], naming.NAMESPACE)
        else:
            errors.append(f"metadata.namespace: a {kind} has no namespace; remove the field")
    errors += _texts("labels", meta.get("labels"), _label_value)
    errors += _texts("annotations", meta.get("annotations"), lambda value: "")
    errors += _finalizers(meta.get("finalizers")) + _owners(meta.get("ownerReferences"))
    for field, form in _SCALARS.items():
        if not _is(form, meta.get(field)):
            errors.append(f"metadata.{field}: {form}")
    if meta.get("managedFields") is not None:  # as for server-side apply
        errors.append("metadata.managedFields: the API server sets this field; remove it")
    return errors


def _is(form: str, value: Any) -> bool:
    """Whether a value has the type that the message requires; null stands for an absent field."""
    if value is None:
        return True
    if form == _NUMBER:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, str) and (form == _TEXT or _RFC3339.fullmatch(value) is not None)


def _finalizers(value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        return ["metadata.finalizers: takes a list of strings"]
    message = "metadata.finalizers[{}]: is not a valid name of a finalizer, such as example.org/app"
    return [message.format(at) for at, each in enumerate(value) if not (isinstance(each, str) and is_qualified(each))]


def _owners(value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        return ["metadata.ownerReferences: takes a list of mappings"]
    errors, allowed = [], _OWNER + _OF_OWNERS
    for at, each in enumerate(value):
        path = f"metadata.ownerReferences[{at}]"
        if not isinstance(each, dict):
            errors.append(f"{path}: takes a mapping of {', '.join(allowed)}")
            continue
        errors += [
            f"{path}.{name_of(key)}: unknown field; {choices(key, allowed)}" for key in each if key not in allowed
        ]
        for field in _OWNER:
            if each.get(field) in (None, ""):
                errors.append(f"{path}.{field}: is required")
            elif not isinstance(each[field], str):
                errors.append(f"{path}.{field}: {_TEXT}")
        wrong = (field for field in _OF_OWNERS if not isinstance(each.get(field), bool | None))
        errors += [f"{path}.{field}: takes true or false" for field in wrong]
    return errors


def _name(field: str, value: Any, valid: naming.Format) -> list[str]:
    if value is None or value == "":
        return [f"metadata.{field}: is required"]
    if not isinstance(value, str):
        return [f"metadata.{field}: {_TEXT}"]
    return [] if valid.matches(value) else [f"metadata.{field}: {valid.message}"]


def _texts(field: str, value: Any, wrong: Callable[[str], str]) -> list[str]:
    """Labels or annotations: qualified name → text."""
    if value is None:
        return []
    if not isinstance(value, dict):
        return [f"metadata.{field}: takes a mapping of names to strings"]
    errors = []
    for key, text in value.items():
        if not is_qualified(key):
            errors.append(f"metadata.{field}: {shown(name_of(key))} {QUALIFIED}")
        elif not isinstance(text, str):
            errors.append(f"metadata.{field}.{key}: {_TEXT}")
        elif problem := wrong(text):
            errors.append(f"metadata.{field}.{key}: {problem}")
    return errors


def _label_value(text: str) -> str:
    return "" if is_value(text) else VALUE


def _data(kind: str, field: str, value: Any) -> list[str]:
    """Errors of the data of a Secret or ConfigMap; messages never contain values."""
    if value is None:
        return []
    if not isinstance(value, dict):
        return [f"{field}: takes a mapping of keys to strings"]
    errors = []
    for key, text in value.items():
        if not naming.SECRET_KEY.matches(key):
            errors.append(f"{field}: {shown(name_of(key))} is not a valid key: it {naming.SECRET_KEY.message}")
        elif text is not None and not isinstance(text, str):
            errors.append(f"{field}.{key}: {_TEXT}")
        elif text is not None and (kind, field) in _BINARY and not _is_base64(text):
            errors.append(
                f"{field}.{key}: takes base64" + ("; write plain text in stringData" if kind == "Secret" else "")
            )
    return errors


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
