"""The base class of all actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

Object = dict[str, Any]
Key = tuple[str, str]  # namespace, name


@dataclass(frozen=True)
class Action:
    """One step of a plan. `why`, where present, is the reason in words, for plans and logs."""

    verb: ClassVar[str] = ""

    @property
    def target(self) -> str:
        raise NotImplementedError  # pragma: no cover

    def __str__(self) -> str:
        return f"{self.verb} {self.target}"
