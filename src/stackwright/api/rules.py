"""Rules over several fields, and over what an update may change: each said once, told in two places.

A rule is CEL in the CRD, which the API server evaluates, and the same in Python, for admission and the command line,
which tell all errors at once. Pydantic by itself looks at a whole object only when each field is right, so a `Ruled`
model checks its rules on what was written, and tells what it finds together with the errors of the fields.

CEL sees no field without a type and no annotation; a rule about these has no CEL and is admission's alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from stackwright.api.meta import Model

Raw = Mapping[str, Any]
VALIDATIONS = "x-kubernetes-validations"
FIXED = "cannot change; make another object"
ERRORS = 100  # of one part of an object, that are told


@dataclass(frozen=True)
class Rule:
    """field    where it is told, below the model, as users write it; empty for the model itself
    cel      holds for what is right; empty where CEL cannot see it
    broken   the same, the other way round, of what a user wrote
    """

    field: str
    message: str
    cel: str
    broken: Callable[[Raw], bool]


@dataclass(frozen=True)
class Change:
    """Like a rule, of an update: CEL with oldSelf, and what is refused of (old, new)."""

    field: str
    message: str
    cel: str
    refused: Callable[[Raw, Raw], bool]


def at(raw: Any, path: str) -> Any:
    """What stands at a path such as apiServer.port; None where nothing does."""
    for part in path.split("."):
        raw = raw.get(part) if isinstance(raw, Mapping) else None
    return raw


def maybe(path: str, of: str = "self") -> str:
    """The same in CEL, as an optional value. What it costs is known of numbers and truth values only."""
    return of + "".join(f".?{part}" for part in path.split("."))


def has(path: str, of: str = "self") -> str:
    """Whether something stands there, in CEL."""
    return f"{maybe(path, of)}.hasValue()" if "." in path else f"has({of}.{path})"


def either(one: str, other: str) -> Rule:
    """Two spellings of one thing: whoever writes both may mean two things."""
    return Rule(
        other,
        f"write this or {one}, not both",
        f"!({has(one)} && {has(other)})",
        lambda raw: at(raw, one) is not None and at(raw, other) is not None,
    )


def same(path: str, new: str = "self", old: str = "oldSelf") -> str:
    """That two are the same there, or nothing is in both."""
    one, other = has(path, new), has(path, old)
    return f"{one} == {other} && (!{one} || {new}.{path} == {old}.{path})"


def fixed(field: str, message: str = FIXED) -> Change:
    """A field that stays as it is. For Python a list that is empty is one that is absent."""
    return Change(field, message, same(field), lambda old, new: (at(old, field) or None) != (at(new, field) or None))


def kept(field: str, cel: str, meaning: Callable[[Raw], Any], message: str = FIXED) -> Change:
    """A meaning that stays as it is, however it is spelled. `cel` is its value, with X for the object."""
    return Change(
        field,
        message,
        f"{cel.replace('X', 'self')} == {cel.replace('X', 'oldSelf')}",
        lambda old, new: meaning(old) != meaning(new),
    )


def validations(rules: Iterable[Rule | Change]) -> list[dict[str, str]]:
    """What the API server is told of them."""
    return [
        {
            "rule": rule.cel,
            "message": rule.message,
            **({"fieldPath": f".{rule.field}"} if rule.field else {}),
        }
        for rule in rules
        if rule.cel
    ]


def with_rules(schema: dict[str, Any], model: type[Any]) -> None:
    """The rules of a model in its schema."""
    if told := validations([*model.RULES, *model.CHANGES]):
        schema[VALIDATIONS] = told


class Ruled(Model):
    """A model with rules. What they look at is what was written: before defaults, by the names on the wire."""

    model_config = ConfigDict(json_schema_extra=with_rules)

    RULES: ClassVar[tuple[Rule, ...]] = ()
    CHANGES: ClassVar[tuple[Change, ...]] = ()

    @model_validator(mode="wrap")
    @classmethod
    def _all_errors_at_once(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        wrong = _broken(cls.RULES, value) if isinstance(value, Mapping) else []
        try:
            made = handler(value)
        except ValidationError as error:
            raise ValidationError.from_exception_data(cls.__name__, [*_again(error), *wrong]) from None
        if wrong:
            raise ValidationError.from_exception_data(cls.__name__, wrong)
        return made


def _broken(rules: Iterable[Rule], raw: Raw) -> list[InitErrorDetails]:
    found = []
    for rule in rules:
        with contextlib.suppress(AttributeError, TypeError):  # of a wrong type, which the field itself tells
            if rule.broken(raw):
                path = tuple(rule.field.split(".")) if rule.field else ()
                found.append(InitErrorDetails(type=_error("rule", rule.message), loc=path, input=raw))
    return found


def _again(error: ValidationError) -> list[InitErrorDetails]:
    """The errors of an exception, to raise them together with others."""
    return [
        InitErrorDetails(type=_error(item["type"], item["msg"], item.get("ctx")), loc=item["loc"], input=item["input"])
        for item in error.errors(include_url=False)[:ERRORS]
    ]


def _error(type_: Any, message: Any, context: dict[str, Any] | None = None) -> PydanticCustomError:
    return PydanticCustomError(type_, message, context)
