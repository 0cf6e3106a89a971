"""Names in a spec → ids: exactly one resource must match, and unknown names are queried."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.controllers.infra.references import Resolver
from stackwright.core.openstack.clouds import query
from stackwright.core.openstack.resources import CloudResource

BY_NAME = query("network", name="private")


def resolved(param: Any, *found: str | None) -> tuple[Resolver, CloudResource | None]:
    """`found` are ids of networks of that name; None for a question that was not answered yet."""
    answers = {} if None in found else {BY_NAME: tuple(CloudResource("network", str(id_)) for id_ in found)}
    resolver = Resolver(answers)
    return resolver, resolver.resolve("network", param, "spec.ports[0].network")


def test_a_single_match_of_a_name_is_used() -> None:
    resolver, thing = resolved({"filter": {"name": "private"}}, "a")
    assert thing and thing.id == "a"
    assert (resolver.problems, list(resolver.missing)) == ([], [])


@pytest.mark.parametrize(("found", "told"), [((), "found none"), (("b", "a"), "a, b")])
def test_no_or_several_matches_of_a_name_are_reported_and_none_is_used(found: tuple[str, ...], told: str) -> None:
    """The first of two would be another one tomorrow."""
    resolver, thing = resolved({"filter": {"name": "private"}}, *found)
    assert thing is None
    assert resolver.problems == [f"spec.ports[0].network: network with name private must match exactly one: {told}"]


def test_an_unknown_name_causes_a_query_and_no_error() -> None:
    resolver, thing = resolved({"filter": {"name": "private"}}, None)
    assert (thing, resolver.problems, list(resolver.missing)) == (None, [], [BY_NAME])


def test_an_id_is_used_without_a_query_unless_more_fields_are_needed() -> None:
    resolver, thing = resolved({"id": "x"})
    assert thing == CloudResource("network", "x")
    assert list(resolver.missing) == []
    assert resolver.find("network", {"id": "x"}, "spec.router") is None
    assert list(resolver.missing) == [query("network", id="x")]


def test_the_external_network_is_the_named_or_the_only_one() -> None:
    only = query("network", **{"router:external": True})
    resolver = Resolver({only: (CloudResource("network", "out"),)})
    assert resolver.external_network(None, "spec.externalNetwork") == CloudResource("network", "out")
    assert resolver.external_network({"filter": {"name": "b"}}, "spec.externalNetwork") is None
    assert list(resolver.missing) == [query("network", name="b", **{"router:external": True})]
