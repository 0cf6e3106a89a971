"""Errors of a cloud update that reduces the number of voting servers, from its service objects before and after. Pure.

Admission rejects such an update. Without admission the cloud applies no part of it: if only the one service were held
back, the other services would still apply the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from stackwright.cloud.immutability import update_errors
from stackwright.controllers.cloud.charts import place
from stackwright.controllers.cloud.observe import Observed
from stackwright.controllers.cloud.selection import Wanted
from stackwright.core.objects import DIGEST, annotation, is_deleting
from stackwright.core.plan import Object
from stackwright.services.declaration import Chart, Service
from stackwright.services.voters import field_of, override_errors

# (level, service, chart) → path in the manifest of the number of voting servers
Path = Callable[[str, Service, Chart], str]


def option(source: str, declared: Service, chart: Chart) -> str:
    """The path of the number of voting servers in an OpenStackDeployment."""
    return f"{place(source, declared, chart.name)}.{field_of(chart)}"


def level_errors(declared: Service, old: Object, new: Object, path: Path = option) -> Iterator[str]:
    """Errors of the override levels; empty for objects that are invalid for other reasons."""
    for spec, index, chart, problem in override_errors(declared, old, new):
        yield f"{path(spec.overrides[index].source, declared, chart)}: {problem}"


def update_voter_errors(seen: Observed, wanted: Iterable[tuple[Wanted, Object]], path: Path) -> list[str]:
    """All errors of the changed service objects, in override levels and in sizes."""
    errors: dict[str, None] = {}  # several services share one size
    for each, thing in wanted:
        current = seen.services.get(each.key)
        if current and not is_deleting(current) and annotation(current, DIGEST) != annotation(thing, DIGEST):
            errors |= dict.fromkeys(update_errors(current, thing))
            errors |= dict.fromkeys(level_errors(each.declared, current, thing, path))
    return list(errors)
