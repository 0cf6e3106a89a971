"""What is particular to a contract kind: its Secret and the action that fulfils it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api.meta import CamelModel, Kind
from stackwright.core.plan import Action, Object


@dataclass(frozen=True)
class Contract:
    """fixed, templates  fields of the Secret (see EnsureSecret), from the spec, and for fixed ones the namespace
    action           what makes it true, or with absent=True what takes it away
    generated        fields of the Secret that are random
    """

    name: str
    kind: Kind
    instance_kind: Kind
    spec: type[CamelModel]
    fixed: Callable[[Any, str], Mapping[str, str]]
    templates: Callable[[Any], Mapping[str, str]]
    action: Callable[[Any, str, bool], Action]
    generated: tuple[str, ...] = ("password",)


def secret_of(obj: Object) -> str:
    return str(obj["spec"]["secretName"])
