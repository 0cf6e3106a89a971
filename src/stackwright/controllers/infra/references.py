"""Resolves names in a spec to ids: builds the queries and interprets their results. Pure.

An id in the spec is used without a query, unless more than the id is needed. A name or filter must match exactly one
resource; all mismatches are reported at once. Some queries depend on earlier results, so a resolver runs until no query
is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.core.openstack.clouds import Query, query
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import CloudResource

Answers = Mapping[Query, tuple[CloudResource, ...]]
TOLD = 5  # maximum number of ids that a message lists


def status_entry(thing: CloudResource, **more: Any) -> dict[str, Any]:
    """A resource as a status shows it, without empty fields."""
    tags = sorted(thing.facts.get("tags") or ())
    return {"id": thing.id, "name": thing.name, **({"tags": tags} if tags else {}), **more}


@dataclass
class Resolver:
    """missing   queries without a result yet, each once
    problems  messages about references that match no resource or more than one
    """

    answers: Answers
    missing: dict[Query, None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def resolve(self, type_: str, param: Mapping[str, Any] | None, where: str, **more: Any) -> CloudResource | None:
        """The resource of {id} or {filter}; None while unknown or invalid. `where` is the field, for messages."""
        if param is None:
            return None
        if param.get("id"):
            return CloudResource(type_, str(param["id"]))
        return self.find(type_, param, where, **more)

    def find(self, type_: str, param: Mapping[str, Any], where: str, **more: Any) -> CloudResource | None:
        """Like `resolve`, but an id is queried too: the resource must exist, and its facts are needed."""
        wanted = {TYPES[type_].filters[name]: value for name, value in (param.get("filter") or {}).items()}
        named = {"id": param["id"]} if param.get("id") else {}
        return self.only_match(query(type_, **named, **wanted, **more), where)

    def external_network(self, param: Mapping[str, Any] | None, where: str) -> CloudResource | None:
        """The external network that the spec names, or the only one that exists."""
        return self.find("network", param or {}, where, **{"router:external": True})

    def only_match(self, wanted: Query, where: str) -> CloudResource | None:
        """The match of a query; None while unknown, or if the query does not match exactly one resource."""
        found = self.matches(wanted)
        if found is None:
            return None
        if len(found) != 1:
            ids = sorted(thing.id for thing in found)
            matches = ", ".join([*ids[:TOLD], *(["…"] if len(ids) > TOLD else [])]) or "found none"
            self.problems.append(f"{where}: {wanted} must match exactly one: {matches}")
            return None
        return found[0]

    def matches(self, wanted: Query) -> tuple[CloudResource, ...] | None:
        """All matches; None while unknown."""
        found = self.answers.get(wanted)
        if found is None:
            self.missing[wanted] = None
        return found
