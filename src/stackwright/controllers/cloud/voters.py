"""Updates of a cloud after which fewer servers of a service vote, told of its service objects before and after. Pure.

Admission refuses them. Where it is off or away, the cloud applies nothing of such an update: were only the one service
held back, the others would take the rest of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from stackwright.api.immutability import update_errors
from stackwright.controllers.cloud.charts import place
from stackwright.controllers.cloud.objects import Wanted
from stackwright.controllers.cloud.observe import Observed
from stackwright.core.objects import DIGEST, annotation, is_deleting
from stackwright.core.plan import Object
from stackwright.services.declaration import Chart, Service
from stackwright.services.voters import field_of, override_errors

# (level, service, chart) → where the manifest says how many servers vote
Path = Callable[[str, Service, Chart], str]


def option(source: str, declared: Service, chart: Chart) -> str:
    """Where values of an OpenStackDeployment say it."""
    return f"{place(source, declared, chart.name)}.{field_of(chart)}"


def level_errors(declared: Service, old: Object, new: Object, path: Path = option) -> Iterator[str]:
    """Of levels of overrides; none for objects that are not valid otherwise."""
    for spec, index, chart, problem in override_errors(declared, old, new):
        yield f"{path(spec.overrides[index].source, declared, chart)}: {problem}"


def update_voter_errors(seen: Observed, wanted: Iterable[tuple[Wanted, Object]], path: Path) -> list[str]:
    """All errors of service objects as they are to be, of levels and of sizes; none of those that do not change."""
    errors: dict[str, None] = {}  # one size is of many services
    for each, thing in wanted:
        current = seen.services.get(each.key)
        if current and not is_deleting(current) and annotation(current, DIGEST) != annotation(thing, DIGEST):
            errors |= dict.fromkeys(update_errors(current, thing))
            errors |= dict.fromkeys(level_errors(each.declared, current, thing, path))
    return list(errors)
