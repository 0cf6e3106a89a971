"""The two tables of resource types agree, and a type needs only its two entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields as fields_of
from typing import Any

import pytest

from stackwright.adapters.openstack.tenant.rest.reads import fetch, single
from stackwright.adapters.openstack.tenant.rest.references import find
from stackwright.adapters.openstack.tenant.rest.requests import run as request
from stackwright.adapters.openstack.tenant.rest.resource_facts import MARKS, fields
from stackwright.adapters.openstack.tenant.rest.rest_types import REST, RestFacts, found_of, resource_of
from stackwright.adapters.openstack.tenant.snapshot import Snapshot
from stackwright.api.infra.params import ImageFilter, NameFilter, NeutronFilter, SubnetFilter
from stackwright.controllers.infra.drift import corrections, unmanaged_rules
from stackwright.controllers.infra.managed_resources import (
    DesiredResource,
    Owner,
    Progress,
    Record,
    plan_next,
)
from stackwright.controllers.infra.references import Resolver
from stackwright.controllers.infra.teardown import plan_removal
from stackwright.core.openstack.calls import CloudCall, resolve_pending
from stackwright.core.openstack.clouds import Clouds, Query, Subscription, look, run
from stackwright.core.openstack.errors import Reason, TransientCloudError
from stackwright.core.openstack.resource_types import TYPES, TypeFacts, deletion_order
from stackwright.core.openstack.resources import CloudRef, ProjectView, ResourceKey, ids, mark
from stackwright.forecast.clouds import ForecastClouds
from stackwright.runtime.memory import FrozenClock
from support.openstack import MemoryClouds, owned_types
from tests.unit.adapters.openstack.tenant.test_clouds import Response, Services

CLOUD, UID = CloudRef(("ns", "clouds"), "mine"), "5b6c1d0e-0000-4000-8000-000000000001"
OWNER = Owner(CLOUD, UID)
NETWORK, SHELF, BOOK = ("network", "n"), ("shelf", "s"), ("book", "b")


def test_each_table_has_the_types_of_the_other() -> None:
    assert TYPES.keys() == REST.keys()


@pytest.mark.parametrize("what", TYPES)
def test_an_entry_names_types_that_exist(what: str) -> None:
    facts = TYPES[what]
    named = {*facts.needs.values(), *(pair[0] for pair in (facts.parent, facts.attached) if pair)}
    assert named <= TYPES.keys()
    assert facts.mark in MARKS
    assert facts.owned or TypeFacts(owned=False, filters=facts.filters) == facts, "what is only looked up has no more"


def test_a_type_is_deleted_before_the_types_that_it_needs() -> None:
    order = deletion_order()
    late = [
        (what, used) for what in order for used in TYPES[what].needs.values() if order.index(used) <= order.index(what)
    ]
    assert late == []


@pytest.mark.parametrize(
    ("what", "filters"),
    [
        ("image", ImageFilter), ("flavor", NameFilter), ("server-group", NameFilter), ("network", NeutronFilter),
        ("subnet", SubnetFilter), ("router", NeutronFilter), ("security-group", NeutronFilter),
    ],
)  # fmt: skip
def test_each_filter_of_a_spec_has_one_of_the_api(what: str, filters: type[NameFilter]) -> None:
    assert filters.model_json_schema()["properties"].keys() == TYPES[what].filters.keys()


@pytest.mark.parametrize("what", owned_types())
def test_compared_fields_are_read(what: str) -> None:
    raw = {"id": "1", "name": "a", **dict.fromkeys(TYPES[what].compared, "a"), "metadata": {"a": "b"}, "tags": ["a"]}
    thing = resource_of(what, raw)
    assert set(TYPES[what].compared) - {"name"} <= thing.facts.keys()


@pytest.fixture
def made_up() -> Iterator[None]:
    """Two entries in each table: shelves, which are in a network, and books, which belong to a shelf."""
    facts, rest = dict(TYPES), dict(REST)
    shelf = TypeFacts(compared=("name", "size"), filters={"name": "name"}, needs={"network_id": "network"})
    book = TypeFacts(parent=("shelf", "shelf_id"), needs={"shelf_id": "shelf"})
    TYPES.clear()
    TYPES.update({"shelf": shelf, "book": book, **facts})
    REST["shelf"] = RestFacts("network", "/shelves", "shelf", "shelves", fields("size"), apart={"tags": "PUT"})
    REST["book"] = RestFacts("network", "/books", "book", "books", fields("shelf_id"))
    yield
    for table, before in ((TYPES, facts), (REST, rest)):  # the order counts
        table.clear()
        table.update(before)


def parts() -> list[DesiredResource]:
    return [
        DesiredResource(NETWORK, lambda _: {"name": "n"}),
        DesiredResource(SHELF, lambda known: {"name": "s", "size": 1, "network_id": known[NETWORK]}),
        DesiredResource(BOOK, lambda known: {"shelf_id": known[SHELF]}),
    ]


async def view(clouds: Clouds, record: Mapping[ResourceKey, str]) -> ProjectView:
    return await look(clouds, CLOUD, Subscription("test", ("ns", "a"), UID, tuple(owned_types()), ids(record.items())))


async def create(clouds: Clouds) -> dict[ResourceKey, str]:
    record: dict[ResourceKey, str] = {}
    while calls := (found := plan_next(OWNER, parts(), record, await view(clouds, record))).calls:
        made = {call.resource_key: await run(clouds, call) for call in calls}
        record = {key: resolve_pending(id_, made) for key, id_ in found.record.items()}
    assert found.complete
    return record


@pytest.mark.usefixtures("made_up")
@pytest.mark.parametrize("recorded", [True, False])
async def test_a_made_up_type_is_created_recognized_and_deleted_in_memory(recorded: bool) -> None:
    clouds = MemoryClouds(FrozenClock())
    record: Record = await create(clouds)
    assert sorted(thing.type for thing in clouds.all()) == ["book", "network", "shelf"]
    assert plan_next(OWNER, parts(), {}, await view(clouds, {})).record == record, "found by their marks"
    with pytest.raises(TransientCloudError, match="shelf") as raised:
        await run(clouds, OWNER.call("delete", NETWORK, id=record[NETWORK]))
    assert raised.value.cause is Reason.CONFLICT
    record = record if recorded else {}
    while not (found := plan_removal(OWNER, record, await view(clouds, record))).complete:
        for call in found.calls:
            await run(clouds, call)
        record = found.record
    assert clouds.all() == []
    assert [call.resource_key[0] for call in clouds.calls if call.do == "delete"] == ["network", "shelf", "network"]


@pytest.mark.usefixtures("made_up")
async def test_changes_of_a_made_up_type_are_reverted() -> None:
    clouds = MemoryClouds(FrozenClock())
    record = await create(clouds)
    clouds.become(clouds.things["shelf", record[SHELF]], "", size=2)
    other = clouds.put("book", "theirs", shelf_id=record[SHELF])
    seen = await view(clouds, record)
    found: Progress = plan_next(OWNER, parts(), record, seen)
    assert [call.body for call in corrections(OWNER, parts(), found)] == [{"size": 1}]
    assert [call.id for call in unmanaged_rules(OWNER, found, seen)] == [other.id]


@pytest.mark.usefixtures("made_up")
async def test_a_made_up_type_is_forecast() -> None:
    clouds = ForecastClouds()
    record = await create(clouds)
    assert {thing.type for thing in (await view(clouds, record)).things} == {"network", "shelf", "book"}


class Shelves:
    """An API with one shelf, if it has been created."""

    def __init__(self) -> None:
        self.shelf: dict[str, Any] = {}

    def __call__(self, method: str, path: str, said: Any) -> Response:
        match method:
            case "POST":
                self.shelf = {"id": "1", **said["shelf"]}
            case "DELETE":
                self.shelf = {}
                return Response(204, {})
        if method == "GET" and path == "/shelves":
            return Response(200, {"shelves": [self.shelf] if self.shelf else []})
        return Response(200 if self.shelf else 404, {"shelf": self.shelf})


@pytest.mark.usefixtures("made_up")
def test_a_made_up_type_is_created_listed_found_and_deleted_by_its_api() -> None:
    services: Any = Services(Shelves())
    body = {"name": "s", "size": 1, "tags": ["t"]}
    id_, told = request(services, CloudCall(CLOUD, "create", SHELF, UID, body=body), None)
    assert services.asked[-1] == ("PUT", "/shelves/1/tags", {"tags": ["t"]})
    assert (id_, resource_of("shelf", told or {}).mark) == ("1", mark(UID, SHELF))
    (listed,) = fetch(services, "shelf")
    assert (listed.mark, listed.facts, single(services, "shelf", "1")) == (mark(UID, SHELF), {"size": 1}, listed)
    assert find(services, Query("shelf", (("name", "s"),))) == (found_of("shelf", {"id": "1", "name": "s"}),)
    snapshot = Snapshot()
    snapshot.replace("shelf", [listed], 1.0)
    snapshot.write(resource_of("book", {"id": "2", "shelf_id": "1"}), 1.0)
    subscription = Subscription("test", ("ns", "a"), UID, ("shelf", "book"))
    assert [thing.type for thing in snapshot.of(subscription)] == ["book", "shelf"], "with what others put in it"
    snapshot.deleted(("shelf", "1"), 2.0)
    assert snapshot.things == {}
    assert request(services, CloudCall(CLOUD, "delete", SHELF, UID, id="1"), None) == ("1", {})
    assert fetch(services, "shelf") == []


@pytest.mark.usefixtures("made_up")
def test_a_made_up_type_is_looked_up_by_its_filters() -> None:
    resolver = Resolver({})
    assert resolver.find("shelf", {"filter": {"name": "s"}}, "spec.shelf") is None
    assert list(resolver.missing) == [Query("shelf", (("name", "s"),))]


def test_no_field_of_an_entry_is_unused() -> None:
    def unused(kind: type, table: Mapping[str, Any]) -> Iterator[str]:
        for each in fields_of(kind):
            values = [getattr(entry, each.name) for entry in table.values()]
            if all(value == values[0] for value in values):
                yield each.name

    assert [*unused(TypeFacts, TYPES), *unused(RestFacts, REST)] == []
