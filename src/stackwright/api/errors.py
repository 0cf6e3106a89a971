"""Validation errors for users: field, problem and allowed values, all errors at once.

Errors appear in webhook responses, conditions and Events, which may have more readers than the object. Therefore they
quote a value only if it is short, a single line, and not in a field with secrets.
"""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic import BaseModel, ValidationError

from stackwright.api import reference
from stackwright.api.rules import ERRORS
from stackwright.api.secrecy import HIDDEN, hidden, holds_secret, leads_to_secrets
from stackwright.api.wording import EMPTY, choices, did_you_mean, message_of

UNSUPPORTED = "unsupported"  # error type of a known but unsupported field
NOT_SUPPORTED = "is not supported by this version of Stackwright"
MORE = "more errors are not shown"
LONGEST = 80  # maximum characters of a quoted value, and of a list that is repeated
LONG = 4096  # maximum characters of an error
SEARCHED = 256  # characters of a name that are searched for secrets
ALLOWED = " allowed: "
NAME = re.compile(r"[\w.~/:@*+-]*")  # names of fields, sections and options, and of keys in labels and policies
FIELD = re.compile(r"(\w+)[\w.\[\]'-]*: ")


def messages(error: ValidationError, model: type[BaseModel], prefix: str = "spec") -> list[str]:
    """One line per error, e.g. `spec.features.nova: is not supported by this version of Stackwright; remove it`."""
    return bounded(_listed_once(_message(item, model, prefix) for item in error.errors(include_url=False)))


def _listed_once(errors: Iterable[str]) -> Iterator[str]:
    """The errors with each long list of allowed values only once, in the first error that contains it."""
    seen: set[str] = set()
    for error in errors:
        head, mark, allowed = error.partition(ALLOWED)
        yield f"{head}{mark}as above" if allowed in seen and len(allowed) > LONGEST else error
        seen.add(allowed)


def bounded(errors: Iterable[str]) -> list[str]:
    """The errors, shortened to a readable number and length."""
    found = [error[:LONG] for error in islice(errors, ERRORS + 1)]
    return found if len(found) <= ERRORS else [*found[:ERRORS], MORE]


def _message(item: Any, model: type[BaseModel], prefix: str) -> str:
    path = list(item["loc"])  # no model has a union, so each part is a name from the user's manifest
    text = message_of(item)
    if item["type"] == "extra_forbidden":
        text = _unknown(_model_at(model, path[:-1]), path[-1])
    elif item["type"] == "missing":
        text = "is required"
    elif item["type"] == "literal_error":
        text = _not_allowed(item["input"], item["ctx"], repeatable(path, item["input"]))
    elif not repeatable(path, item.get("input")):
        text = _without(text, item["input"])
    elif item["type"] != UNSUPPORTED and not isinstance(item["input"], dict | list) and not _shows(item["input"], text):
        text = f"{text}, not {shown(item['input'])}"
    return f"{path_text(path, prefix)}{'.' if _begins_with_field(text, _model_at(model, path)) else ': '}{text}"


def _begins_with_field(text: str, model: Any) -> bool:
    """Whether the message of a model's validator begins with the path of a field: `subnet.range: …`."""
    field = FIELD.match(text)
    return field is not None and field[1] in getattr(model, "model_fields", {})


def _not_allowed(value: object, context: Mapping[str, Any], repeated: bool) -> str:
    """The error for a value that pydantic's list `expected` lacks. The type of the field may add `unsupported` names,
    and `synonyms` of the expected ones, to the context of its error.
    """
    allowed = re.sub(r"\b(True|False)\b", lambda literal: literal[0].lower(), context["expected"])
    what = shown_name(value) if repeated else "the value"
    if isinstance(value, str) and value.removeprefix("~") in context.get("unsupported", ()):
        return f"{what} {NOT_SUPPORTED}; allowed: {allowed}"
    removes = str(value).startswith("~")
    known = [each for each in re.findall("'([^']*)'", allowed) if each.startswith("~") == removes]
    similar = did_you_mean(known, value, synonyms=context.get("synonyms", {})) if repeated else ""
    return f"{what} is not allowed; {similar}allowed: {allowed}"


def repeatable(path: Sequence[object], value: object) -> bool:
    """Whether an error may quote a value, judged by all field names in its path and by its form."""
    names = [part for part in path if isinstance(part, str)]
    if any(map(holds_secret, names[-1:])) or any(map(leads_to_secrets, names[:-1])):
        return False
    text = str(value) if isinstance(value, str | bytes | int) else ""
    return len(text) <= LONGEST and text.isprintable() and hidden(text) == text


def name_of(part: object) -> str:
    """A name from the user's manifest, as one short line; *** for a text that is not a name or may contain a secret.

    A typing error such as `password=pw:` makes a secret part of a field name. Only the beginning is searched for
    secrets, because a name may have megabytes; it is longer than what is shown, because a secret is recognized by its
    end, too.
    """
    text = str(part)[:SEARCHED]
    return shortened(text, LONGEST) if NAME.fullmatch(text) and hidden(text) == text else HIDDEN


def path_text(path: Iterable[object], start: str = "") -> str:
    """A path in the user's manifest, of names of fields and indices of lists, after `start`. For errors only: `name_of`
    takes time.
    """
    for part in path:
        start += f"[{part}]" if isinstance(part, int) else f".{name_of(part)}" if start else name_of(part)
    return start


def printable(text: str) -> str:
    """A message without control characters, which quoted names of fields may contain."""
    return text if text.isprintable() else "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def shortened(text: str, longest: int) -> str:
    """A text of at most `longest` characters; a cut text ends with …."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _without(text: str, value: object) -> str:
    """A message of a validator without the value that it may quote."""
    if not isinstance(value, str) or value in ("", "true", "false"):
        return text
    for form in (repr(value), value, ascii(value)):
        text = text.replace(form, "the value") if len(value) > 2 or form != value else text
    return text


def _shows(value: object, text: str) -> bool:
    return isinstance(value, str) and (text == EMPTY if not value else repr(value) in text)


def shown(value: object) -> str:
    """A value in the notation of a manifest: true and null, not True and None."""
    return repr(value) if isinstance(value, str) else json.dumps(value, default=str)


def shown_name(value: object) -> str:
    """A value in the place of a name, such as that of a kind: never the content of a mapping, nor a secret."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return shown(name_of(value) if isinstance(value, str) else value)


def _unknown(model: Any, name: object) -> str:
    """The error for a field that a model does not declare."""
    fields = getattr(model, "model_fields", {})
    allowed = sorted(field.alias or name for name, field in fields.items())
    known = reference.names_of(model) if isinstance(model, type) else set()
    if name in known:
        return f"{NOT_SUPPORTED}; remove it"
    if reference.ANY in known:
        return f"{NOT_SUPPORTED}; allowed: {', '.join(allowed)}"
    return f"unknown field; {choices(name, allowed)}"


def _model_at(model: Any, path: list[Any]) -> Any:
    """The model at a path below another one."""
    for part in path:
        if isinstance(part, int) or model is None:
            continue
        fields = getattr(model, "model_fields", {})
        found = fields.get(part) or next((f for f in fields.values() if f.alias == part), None)
        model = model_in(found.annotation) if found else model
    return model


def model_in(annotation: Any) -> Any:
    """The model inside an annotation such as list[Model] or Model | None."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return annotation if issubclass(annotation, BaseModel) else None
    for argument in typing.get_args(annotation):
        if (inner := model_in(argument)) is not None:
            return inner
    return None
