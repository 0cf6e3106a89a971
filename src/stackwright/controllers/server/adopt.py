"""Adopts existing resources: the server that a providerID names, if the object has no record of it, and ports and
volumes that the record lacks. Pure.

A marked resource takes precedence. An unmarked server, as another provider created it, is adopted if it matches the
wanted one: same name, same flavor, and all ports, trunks and volumes with the names from the spec. The record of such
a server may lack some of these: Cluster API Provider OpenStack records only ports. A server without a record is not
adopted with credentials from an OpenStackClusterIdentity, because another namespace that shares the project may own it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackwright.controllers.infra.managed_resources import DesiredResource, Record
from stackwright.controllers.infra.references import Answers
from stackwright.core.openstack.clouds import Query, query
from stackwright.core.openstack.resources import SERVER_KEY, CloudResource, ResourceKey

SHARED = "it has no mark of this object, and its project is shared with other namespaces"


@dataclass(frozen=True)
class Adoption:
    """record   the server and all its resources; empty if they are not adopted
    problem  why the server is not adopted
    """

    record: Mapping[ResourceKey, str] = field(default_factory=dict)
    problem: str = ""
    missing: tuple[Query, ...] = ()


def adopt(
    name: str,
    spec: Mapping[str, Any],
    parts: Sequence[DesiredResource],
    server: CloudResource,
    record: Record,
    answers: Answers,
) -> Adoption:
    if server.mark:
        return Adoption(problem="it has the mark of another object")
    if server.name != name:
        return Adoption(problem=f"its name is {server.name}")
    flavor = server.facts.get("flavor")
    if spec.get("flavor") and flavor and flavor != spec["flavor"]:
        return Adoption(problem=f"its flavor is {flavor}")
    queries = {
        part.resource_key: _query(name, part.resource_key, server.id)
        for part in parts
        if part.resource_key != SERVER_KEY and part.resource_key not in record
    }
    if missing := tuple(wanted for wanted in queries.values() if wanted not in answers):
        return Adoption(missing=missing)
    found: dict[ResourceKey, str] = dict(record)
    for key, wanted in queries.items():
        port = found.get(("port", key[1]), "")
        there = [thing.id for thing in answers[wanted] if _is_of(thing, server, port)]
        if len(there) != 1:
            return Adoption(problem=f"it has no {key[0]} {dict(wanted.where)['name']}")
        found[key] = there[0]
    return Adoption({**found, SERVER_KEY: server.id})


def _query(name: str, key: ResourceKey, server: str) -> Query:
    match key:
        case ("port", port):
            return query("port", name=port, device_id=server)
        case ("volume", device):
            return query("volume", name=f"{name}-{device}")
    return query(key[0], name=key[1])


def _is_of(thing: CloudResource, server: CloudResource, port: str) -> bool:
    """Whether it belongs to the server, or a trunk to this port of it."""
    match thing.type:
        case "volume":
            return thing.id in server.facts.get("volumes", ())
        case "trunk":
            return thing.facts.get("port_id") == port
    return True
