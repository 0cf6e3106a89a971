"""What an update changes that must stay: (object as it is stored, as it is to be) → errors. Pure.

The models say it themselves: `CHANGES` of a part holds wherever the part stands, but not in lists, whose items nobody
can tell from one update to the next. Most of it is CEL in the CRD as well; here it is told with all other errors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from stackwright.api.errors import model_in
from stackwright.api.registry import BY_KIND
from stackwright.api.rules import Change, Raw


def update_errors(old: Raw, new: Raw) -> list[str]:
    """One line an error, as `spec.image: cannot change; make another object`; none for kinds without such rules."""
    resource = BY_KIND.get(str(new.get("kind")))
    if resource is None:
        return []
    found = _refused(getattr(resource, "CHANGES", ()), old, new, "")
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
        with contextlib.suppress(AttributeError, TypeError):  # of a wrong type, which is told as such
            if change.refused(old, new):
                yield f"{path}{change.field}: {change.message}"
