"""Errors of a cloud update that reduces the number of voting servers, from its service objects before and after. Pure.

Admission rejects such an update. Without admission, the cloud applies no part of it: if only the one service were
excluded, the other services would still apply the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackwright.cloud.immutability import update_errors
from stackwright.controllers.cloud.level import Level
from stackwright.controllers.cloud.observe import Observed
from stackwright.controllers.cloud.selection import Wanted
from stackwright.core.objects import DIGEST, annotation, is_deleting
from stackwright.core.plan import Object
from stackwright.services.declaration import Service
from stackwright.services.voters import override_errors


def level_errors(declared: Service, old: Object, new: Object) -> Iterator[str]:
    """Errors of the override levels; empty for objects that are invalid for other reasons."""
    for spec, index, chart, problem in override_errors(declared, old, new):
        level = Level.parse(spec.overrides[index].source)
        yield f"{level.value_path(declared.service, chart.name, chart.voters_field)}: {problem}"


def update_voter_errors(seen: Observed, wanted: Iterable[tuple[Wanted, Object]]) -> list[str]:
    """All errors of the changed service objects, in override levels and in sizes."""
    errors: dict[str, None] = {}  # several services share one size
    for each, thing in wanted:
        current = seen.services.get(each.key)
        if current and not is_deleting(current) and annotation(current, DIGEST) != annotation(thing, DIGEST):
            errors |= dict.fromkeys(update_errors(current, thing))
            errors |= dict.fromkeys(level_errors(each.declared, current, thing))
    return list(errors)
