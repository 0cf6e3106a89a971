"""Search for resources that the operator does not own (images, flavors, networks, groups) by the filters of their APIs.

Neutron shows an administrator the resources of all projects. Types that projects do not share are searched in the
project of the credentials only. Networks and their parts may be shared: the project's own ones take precedence over
those of others. A filter by project or id is used as given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stackwright.adapters.openstack.tenant.rest.reads import pages, project_filter
from stackwright.adapters.openstack.tenant.rest.rest_types import REST, found_of
from stackwright.core.openstack.clouds import Query
from stackwright.core.openstack.errors import Reason, TransientCloudError
from stackwright.core.openstack.resources import CloudResource

if TYPE_CHECKING:
    from openstack.connection import Connection

KEPT = 64 << 10  # bytes of results: a hundred resources, or one with very many tags
WHOLE = 256 << 10  # the same where a status needs all results: four hundred subnets of a network


class _Few:
    """The first results of a list: as many as fit into KEPT, but at least two, which show that a match is ambiguous.

    If the query needs the whole list, all results. Raises TransientCloudError if they do not fit into WHOLE.
    """

    def __init__(self, asked: Query) -> None:
        self.things: list[CloudResource] = []
        self._asked = asked
        self._left = WHOLE if asked.whole else KEPT

    def add(self, thing: CloudResource) -> None:
        if len(self.things) > 1 and self._left < 0 and not self._asked.whole:
            return
        if (weight := thing.weight) > KEPT:
            raise TransientCloudError(Reason.UNREACHABLE, f"a {thing.type} exceeds the limit of {KEPT >> 10} KiB")
        self._left -= weight
        if self._asked.whole and self._left < 0:
            text = f"a list of {thing.type}s exceeds the limit of {WHOLE >> 10} KiB"
            text = f"{text}: select fewer resources by name or id" if self._asked.where else text
            raise TransientCloudError(Reason.UNREACHABLE, text)
        if len(self.things) < 2 or self._left >= 0:
            self.things.append(thing)


def find(connection: Connection, asked: Query) -> tuple[CloudResource, ...]:
    """The results, or the first of very many unless the query needs the whole list. Raises TransientCloudError or
    TerminalCloudError.
    """
    rest, where = REST[asked.type], dict(asked.where)
    mine = {} if "project_id" in where or "id" in where else project_filter(connection, rest)
    filters = {name: _parameter(name, value) for name, value in where.items() if name not in rest.unfiltered}
    params = {**rest.query, **filters}
    if not rest.shared:
        params |= mine
    first = None if "network_id" in where else mine.get("project_id")  # within one network, the project does not matter
    ours, others = _Few(asked), _Few(asked)
    for raw in pages(connection, rest, params, rest.details):
        each = found_of(asked.type, raw)
        if all(_field(each, name) == where[name] for name in rest.unfiltered if name in where):
            (ours if first and raw.get("project_id") == first else others).add(each)
    return tuple(ours.things or others.things)


def _parameter(name: str, value: Any) -> Any:
    """The value of a filter: Neutron takes several tags as one comma-separated value, Glance each separately."""
    if isinstance(value, tuple) and name != "tag":
        return ",".join(map(str, value))
    return list(value) if isinstance(value, tuple) else value


def _field(found: CloudResource, name: str) -> Any:
    return found.name if name == "name" else found.facts.get(name)
