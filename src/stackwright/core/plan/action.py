"""The base class of all actions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

Object = dict[str, Any]
Key = tuple[str, str]  # namespace, name
A = TypeVar("A", bound="Action")


@dataclass(frozen=True)
class Action:
    """One step of a plan. `why`, where present, is the reason in words, for plans and logs.

    stage  type of the condition that reports a failure of this action. Such an action needs no other one, and the rest
           of the report does not assume that it succeeds. An action without a stage needs all that precede it.
    """

    verb: ClassVar[str] = ""
    stage: str = field(default="", kw_only=True, compare=False)

    @property
    def target(self) -> str:
        raise NotImplementedError  # pragma: no cover

    def __str__(self) -> str:
        return f"{self.verb} {self.target}"


def apart(stage: str, actions: Iterable[A]) -> tuple[A, ...]:
    """The actions with this stage: each is executed although others failed."""
    return tuple(replace(action, stage=stage) for action in actions)
