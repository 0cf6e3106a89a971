"""Validation errors as a user wants them: field, what is wrong, what is allowed; all at once."""

from __future__ import annotations

import json
import types
import typing
from typing import Any

from pydantic import BaseModel, ValidationError

from stackwright.api.wording import EMPTY, worded

UNSUPPORTED = "unsupported"  # type of the error of a field that is known and not honoured


def messages(error: ValidationError, model: type[BaseModel], prefix: str = "spec") -> list[str]:
    """One line per error, e.g. `spec.features.nova: is not supported by this version of Stackwright; remove it`."""
    return [_message(item, model, prefix) for item in error.errors(include_url=False)]


def _message(item: Any, model: type[BaseModel], prefix: str) -> str:
    path = list(item["loc"])  # no model has a union, so each part is a name that the user wrote
    text = worded(item)
    if item["type"] == "extra_forbidden":
        text = f"unknown field; allowed: {', '.join(sorted(_fields(model, path[:-1])))}"
    elif item["type"] == "missing":
        text = "is required"
    elif item["type"] == "literal_error":
        text = f"{_shown(item['input'])} is not allowed; allowed: {item['ctx']['expected']}"
    elif item["type"] != UNSUPPORTED and not isinstance(item["input"], dict | list) and not _told(item["input"], text):
        text = f"{text}, not {_shown(item['input'])}"
    where = prefix
    for part in path:
        where += f"[{part}]" if isinstance(part, int) else f".{part}" if where else str(part)
    return f"{where}: {text}"


def _told(value: object, text: str) -> bool:
    return isinstance(value, str) and (text == EMPTY if not value else repr(value) in text)


def _shown(value: object) -> str:
    """As it stands in a manifest: true and null, not True and None."""
    return repr(value) if isinstance(value, str) else json.dumps(value, default=str)


def _fields(model: Any, path: list[Any]) -> list[str]:
    """Names of the fields of the model at a path below another one."""
    for part in path:
        if isinstance(part, int) or model is None:
            continue
        fields = getattr(model, "model_fields", {})
        found = fields.get(part) or next((f for f in fields.values() if f.alias == part), None)
        model = model_in(found.annotation) if found else model
    fields = getattr(model, "model_fields", {})
    return [field.alias or name for name, field in fields.items()]


def model_in(annotation: Any) -> Any:
    """The model inside an annotation such as list[Model] or Model | None."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return annotation if issubclass(annotation, BaseModel) else None
    for argument in typing.get_args(annotation):
        if (inner := model_in(argument)) is not None:
            return inner
    return None
