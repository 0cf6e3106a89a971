"""Checks of immutable fields in an update: (stored object, new object) → errors. Pure.

The rules are in the models: `CHANGES` of a part applies wherever the part is used, except in templates, and in lists,
whose items cannot be matched between updates. Most rules are CEL in the CRD too; this module reports them together with
all other errors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from stackwright.api.errors import model_in
from stackwright.api.rules import Change, Raw
from stackwright.cloud.registry import BY_KIND


def update_errors(old: Raw, new: Raw) -> list[str]:
    """One line per error, e.g. `spec.image: cannot change; create another object`; empty for kinds without rules."""
    resource = BY_KIND.get(str(new.get("kind")))
    if resource is None:
        return []
    found = _refused(getattr(resource, "CHANGES", ()), old, new, "")
    if resource.TEMPLATE:
        return [*found]
    return [*_below(resource.model_fields["spec"].annotation, old.get("spec"), new.get("spec"), "spec."), *found]


def _below(annotation: Any, old: Any, new: Any, path: str) -> Iterator[str]:
    model = model_in(annotation)
    if model is None or not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return
    yield from _refused(getattr(model, "CHANGES", ()), old, new, path)
    for name, field in model.model_fields.items():
        wire = field.alias or name
        yield from _below(field.annotation, old.get(wire), new.get(wire), f"{path}{wire}.")


def _refused(changes: tuple[Change, ...], old: Raw, new: Raw, path: str) -> Iterator[str]:
    for change in changes:
        with contextlib.suppress(AttributeError, TypeError):  # a wrong type is reported separately
            if change.refused(old, new):
                yield f"{path}{change.field}: {change.message}"
