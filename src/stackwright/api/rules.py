"""Validation rules for several fields and for updates: each is declared once and evaluated in two places.

A rule has a CEL form in the CRD, which the API server evaluates, and a Python form for admission and the command line,
which report all errors at once. Pydantic validates a whole object only if each field is valid, so a `Ruled` model
checks its rules on the raw input and reports their errors together with those of the fields. CEL cannot access
annotations and fields without a type; rules for these have no CEL, and only admission checks them.
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
FIXED = "cannot change; create another object"
WRONG = (AttributeError, LookupError, TypeError, ValueError)  # of a value that is reported for its field
ERRORS = 100  # maximum number of reported errors per part of an object


@dataclass(frozen=True)
class Rule:
    """field    path of the field to report, relative to the model, as in a manifest; empty for the model itself
    cel      true for valid input; empty if CEL cannot access the fields
    broken   raw input → whether it violates the rule; equivalent to the negation of `cel`
    """

    field: str
    message: str
    cel: str
    broken: Callable[[Raw], bool]


@dataclass(frozen=True)
class Change:
    """A rule for updates: CEL with oldSelf, and a function of (old, new) that returns whether to reject the update."""

    field: str
    message: str
    cel: str
    refused: Callable[[Raw, Raw], bool]


def at(raw: Any, path: str) -> Any:
    """The value at a path such as apiServer.port; None if absent."""
    for part in path.split("."):
        raw = raw.get(part) if isinstance(raw, Mapping) else None
    return raw


def sets(raw: Any, path: str) -> bool:
    """Whether values set the value at a path, or remove it by a null there or above."""
    for part in path.split("."):
        if not isinstance(raw, Mapping) or part not in raw:
            return False
        if (raw := raw[part]) is None:
            return True
    return True


def maybe(path: str, of: str = "self") -> str:
    """The value at a path in CEL, as an optional. CEL can only estimate its cost for numbers and booleans."""
    return of + "".join(f".?{part}" for part in path.split("."))


def has(path: str, of: str = "self") -> str:
    """Whether a path has a value, in CEL."""
    return f"{maybe(path, of)}.hasValue()" if "." in path else f"has({of}.{path})"


def either(one: str, other: str) -> Rule:
    """Rejects the use of both names of one field, because their values may differ."""
    return Rule(
        other,
        f"set this field or {one}, not both",
        f"!({has(one)} && {has(other)})",
        lambda raw: at(raw, one) is not None and at(raw, other) is not None,
    )


def each_index(items: str, most: int, rule: str) -> str:
    """CEL: whether a rule holds for each index `i` of a list of at most `most` items.

    Kubernetes before 1.33 has no macro that provides an index.
    """
    return f"{list(range(most))}.all(i, i >= {items}.size() || ({rule}))"


def same(path: str, new: str = "self", old: str = "oldSelf") -> str:
    """CEL for whether two objects have equal values, or no values, at a path."""
    one, other = has(path, new), has(path, old)
    return f"{one} == {other} && (!{one} || {new}.{path} == {old}.{path})"


def fixed(field: str, message: str = FIXED) -> Change:
    """An immutable field. In Python, an empty list equals an absent one."""
    return Change(field, message, same(field), lambda old, new: (at(old, field) or None) != (at(new, field) or None))


def kept(field: str, cel: str, meaning: Callable[[Raw], Any], message: str = FIXED) -> Change:
    """An immutable value with several spellings. `cel` computes the value, with X for the object."""
    return Change(
        field,
        message,
        f"{cel.replace('X', 'self')} == {cel.replace('X', 'oldSelf')}",
        lambda old, new: meaning(old) != meaning(new),
    )


def validations(rules: Iterable[Rule | Change]) -> list[dict[str, str]]:
    """The rules as x-kubernetes-validations."""
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
    """Add the rules of a model to its schema."""
    if checks := validations([*model.RULES, *model.CHANGES]):
        schema[VALIDATIONS] = checks


class Ruled(Model):
    """A model with rules. They check the raw input: before defaults, with the names in manifests."""

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
        with contextlib.suppress(*WRONG):
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
