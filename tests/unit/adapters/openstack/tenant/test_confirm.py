"""One wrong response of a cloud: no short, empty or old list makes the operator forget or recreate a resource."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackwright.adapters.openstack.tenant import changes as tenant_changes
from stackwright.adapters.openstack.tenant import clouds as tenant_clouds
from stackwright.adapters.openstack.tenant import lists as tenant_lists
from stackwright.adapters.openstack.tenant.absence import CONFIRM, AbsenceEvidence
from stackwright.adapters.openstack.tenant.clouds import OpenStackClouds
from stackwright.adapters.openstack.tenant.rest.reads import single
from stackwright.adapters.openstack.tenant.whole_list import WHOLE
from stackwright.controllers.infra.managed_resources import Owner
from stackwright.controllers.infra.teardown import plan_removal
from stackwright.core.openstack.calls import DUPLICATE, CloudCall
from stackwright.core.openstack.clouds import Subscription, look
from stackwright.core.openstack.clouds import run as submit
from stackwright.core.openstack.errors import Reason, TransientCloudError
from stackwright.core.openstack.resource_types import TYPES
from stackwright.core.openstack.resources import CloudResource, ProjectView, ResourceKey, mark
from support.openstack import owned_types
from tests.unit.adapters.openstack.tenant.test_clouds import (
    CLOUD,
    UID,
    Lists,
    Response,
    Services,
    Time,
    clouds,
    lists,
    time,
)

__all__ = ["lists", "time"]
KINDS = sorted(owned_types())
IDS = [f"id-{number}" for number in range(4)]


class Cloud(Lists):
    """One resource or several of a type; `wrong` is the list that the cloud returns instead, None for the true one."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: dict[str, list[CloudResource] | None] = {}

    def __call__(self, connection: Any, what: str, since: str = "") -> list[CloudResource]:
        found = super().__call__(connection, what, since)
        wrong = self.wrong.get(what)
        return found if wrong is None else wrong


@pytest.fixture
def cloud(lists: Lists, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    made = Cloud()
    monkeypatch.setattr(tenant_lists, "fetch", made)
    monkeypatch.setattr(tenant_lists, "peek", made.peek)
    monkeypatch.setattr(tenant_lists, "single", made.one)
    return made


def things(what: str, number: int = len(IDS)) -> list[CloudResource]:
    return [CloudResource(what, id_, mark=mark(UID, (what, id_)), state="ACTIVE") for id_ in IDS[:number]]  # type: ignore[arg-type]


def asks(what: str, *ids: str) -> Subscription:
    owned = frozenset((what, id_) for id_ in ids)
    return Subscription("capicluster", ("ns", "c"), UID, (what,), owned, waits=True, begun=False)  # type: ignore[arg-type]


SHORT: dict[str, Callable[[list[CloudResource]], list[CloudResource]]] = {
    "empty": lambda every: [],
    "short": lambda every: every[:1],
    "stale": lambda every: every[:-1],
}


@pytest.mark.parametrize("what", KINDS)
async def test_the_first_list_proves_no_absence_to_an_object_of_an_earlier_process(
    what: str, cloud: Cloud, time: Time
) -> None:
    port_, time.now = clouds([]), time.now + 100
    new, begun = asks(what), replace(asks(what), uid="another", begun=True)
    assert (await look(port_, CLOUD, new)).certain
    assert not (await look(port_, CLOUD, begun)).settled
    time.now += CONFIRM - 0.1
    assert not (await look(port_, CLOUD, begun)).settled
    time.now += 0.1
    assert (await look(port_, CLOUD, begun)).certain


async def test_a_list_with_many_more_items_is_confirmed_like_the_first_one(cloud: Cloud, time: Time) -> None:
    begun = replace(asks("port"), begun=True)
    port_, time.now = clouds([]), time.now + 100
    cloud.things["port"] = things("port")
    for count, certain in ((0, False), (1, False), (3, False), (4, True)):
        cloud.wrong["port"] = things("port", count)
        assert (await look(port_, CLOUD, begun)).certain is certain
        time.now += CONFIRM


async def listed_again(port_: OpenStackClouds, subscription: Subscription, time: Time) -> ProjectView:
    """By a whole list."""
    (project,) = port_._projects.values()
    time.now += WHOLE
    await port_._lists._list(CLOUD, project, subscription.kinds[0])
    return await look(port_, CLOUD, subscription)


@pytest.mark.parametrize("kind", SHORT)
@pytest.mark.parametrize("what", KINDS)
async def test_a_list_without_a_recorded_resource_forgets_nothing(
    cloud: Cloud, time: Time, what: str, kind: str
) -> None:
    cloud.things[what] = things(what)
    port_, subscription = clouds([]), asks(what, *IDS)
    assert (await look(port_, CLOUD, subscription)).certain
    assert cloud.single == [], "nothing is missing, so nothing more is asked for"
    cloud.wrong[what] = SHORT[kind](cloud.things[what])
    view = await listed_again(port_, subscription, time)
    assert sorted(thing.id for thing in view.things) == IDS
    assert {id_ for _, id_ in cloud.single} == set(IDS) - {thing.id for thing in cloud.wrong[what] or ()}
    await port_.close()


@pytest.mark.parametrize("what", KINDS)
async def test_a_recorded_resource_is_gone_after_two_confirmations(cloud: Cloud, time: Time, what: str) -> None:
    cloud.things[what] = things(what)
    told: list[Any] = []
    port_, subscription = clouds(told), asks(what, *IDS)
    await look(port_, CLOUD, subscription)
    del cloud.things[what][-1]
    view = await listed_again(port_, subscription, time)
    assert not view.settled
    time.now += CONFIRM - 1
    assert not (await look(port_, CLOUD, subscription)).settled
    assert len(cloud.single) == 1
    time.now += 1
    assert (await look(port_, CLOUD, subscription)).certain
    assert cloud.single == [(what, IDS[-1])] * 2
    time.now += CONFIRM
    assert (await look(port_, CLOUD, subscription)).certain
    assert len(cloud.single) == 2, "once confirmed it is not asked for again"
    await port_.close()


@pytest.mark.parametrize("what", KINDS)
async def test_after_a_restart_an_empty_list_forgets_nothing(cloud: Cloud, time: Time, what: str) -> None:
    cloud.things[what], cloud.wrong[what] = things(what), []
    view = await look(clouds([]), CLOUD, asks(what, *IDS))
    assert sorted(thing.id for thing in view.things) == IDS


@pytest.mark.parametrize(("kind", "number"), [("empty", 1), ("empty", 4), ("short", 4)])
@pytest.mark.parametrize("what", KINDS)
async def test_a_list_that_suddenly_lacks_many_items_is_accepted_after_an_equal_one(
    cloud: Cloud, time: Time, what: str, kind: str, number: int
) -> None:
    """A resource that is known only by its mark has no id to request."""
    cloud.things[what] = things(what, number)
    port_, subscription = clouds([]), asks(what)
    assert (await look(port_, CLOUD, subscription)).certain
    cloud.wrong[what] = SHORT[kind](cloud.things[what])
    view = await listed_again(port_, subscription, time)
    assert not view.settled
    assert not plan_removal(Owner(CLOUD, UID), {}, view).complete, "the finalizer stays"
    time.now += CONFIRM
    cloud.wrong[what] = None
    view = await look(port_, CLOUD, subscription)
    assert view.certain
    assert len(view.things) == number
    cloud.wrong[what] = SHORT[kind](cloud.things[what])
    assert not (await listed_again(port_, subscription, time)).settled
    time.now += CONFIRM
    assert (await look(port_, CLOUD, subscription)).certain, "two lists agree"
    await port_.close()


async def test_a_recorded_router_keeps_its_finalizer_through_an_empty_list(cloud: Cloud, time: Time) -> None:
    """So a router was orphaned while a replica of Neutron came up."""
    cloud.things["router"] = things("router", 1)
    record: dict[ResourceKey, str] = {("router", ""): IDS[0]}
    port_, subscription = clouds([]), asks("router", IDS[0])
    cloud.wrong["router"] = []
    step = plan_removal(Owner(CLOUD, UID), record, await look(port_, CLOUD, subscription))
    assert [call.id for call in step.calls] == [IDS[0]]
    assert step.record == record
    await port_.close()


@pytest.mark.parametrize("what", [what for what in KINDS if what not in ("server", "volume")])
@pytest.mark.parametrize("found", [True, False])
async def test_a_resource_deleted_at_our_request_is_gone_and_one_404_is_not_enough(
    cloud: Cloud, time: Time, monkeypatch: pytest.MonkeyPatch, what: str, found: bool
) -> None:
    cloud.things[what] = things(what, 1)
    port_, subscription = clouds([]), asks(what, IDS[0])
    await look(port_, CLOUD, subscription)
    monkeypatch.setattr(tenant_changes, "run", lambda made, call, data: (call.id, {} if found else None))
    await submit(port_, CloudCall(CLOUD, "delete", (what, ""), UID, id=IDS[0]))  # type: ignore[arg-type]
    assert cloud.single == ([(what, IDS[0])] if TYPES[what].attached else []), "somebody may have attached it"
    cloud.single.clear()
    if found:
        cloud.things[what] = []
    view = await look(port_, CLOUD, subscription)
    assert view.certain
    assert [thing.id for thing in view.things] == ([] if found else [IDS[0]])
    assert len(cloud.single) == (0 if found else 1)
    await port_.close()


async def test_the_rules_of_a_group_are_deleted_with_it(
    cloud: Cloud, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [CloudResource("security-group-rule", f"r{n}", facts={"security_group_id": IDS[0]}) for n in range(3)]
    cloud.things = {"security-group": things("security-group", 1), "security-group-rule": rules}
    known = frozenset({("security-group", IDS[0]), *(("security-group-rule", rule.id) for rule in rules)})
    subscription = replace(asks("security-group"), kinds=("security-group", "security-group-rule"), ids=known)
    port_ = clouds([])
    assert len((await look(port_, CLOUD, subscription)).things) == 4
    monkeypatch.setattr(tenant_changes, "run", lambda made, call, data: (call.id, {}))
    await submit(port_, CloudCall(CLOUD, "delete", ("security-group", ""), UID, id=IDS[0]))
    cloud.things.clear()
    time.now += WHOLE
    view = await look(port_, CLOUD, subscription)
    assert view.certain
    assert (view.things, cloud.single) == ((), [])
    await port_.close()


async def test_trouble_of_a_single_request_confirms_nothing(
    cloud: Cloud, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(connection: Any, what: str, id_: str) -> CloudResource | None:
        raise TransientCloudError("ServerError", "HTTP 503")

    monkeypatch.setattr(tenant_lists, "single", fails)
    port_ = clouds([])
    for _ in range(3):
        with pytest.raises(TransientCloudError, match="503"):
            await look(port_, CLOUD, asks("router", IDS[0]))
        time.now += CONFIRM
    await port_.close()


async def test_a_missing_resource_is_confirmed_at_a_given_time(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant_clouds, "CONFIRM", 0.0)
    told: list[Any] = []
    port_ = clouds(told)
    await look(port_, CLOUD, asks("router", IDS[0]))
    await asyncio.sleep(0.01)
    assert told == [("capicluster", ("ns", "c"))]
    await port_.close()


@pytest.mark.parametrize("what", KINDS)
def test_a_single_resource_is_requested_by_its_id(what: str) -> None:
    def answer(method: str, path: str, body: Any) -> Response:
        if path.endswith("/none"):
            return Response(404, {"error": {"message": "no"}})
        key = {"floating-ip": "floatingip"}.get(what, what.replace("-", "_"))
        return Response(200, {key: {"id": "x", "name": "n"}})

    services = Services(answer)
    found = single(services, what, "x")  # type: ignore[arg-type]
    assert found is not None
    assert (found.type, found.id, found.name) == (what, "x", "n")
    assert single(services, what, "none") is None  # type: ignore[arg-type]
    single(services, what, "../x?y")  # type: ignore[arg-type]
    assert services.asked[-1][1].endswith("/..%2Fx%3Fy")


def weighed(*lists: tuple[float, int], expected: int = 4, single: int = 0) -> bool:
    """Whether lists that began at these times, with these numbers of earlier resources, are in doubt after the last
    one.
    """
    evidence = AbsenceEvidence(unlisted={("port", each) for each in IDS[:single]})
    ids = {("port", each) for each in IDS[:expected]}
    for began, count in lists:
        evidence.record_loss("port", ids, sorted(ids)[len(ids) - count :], began)
    return "port" in evidence.short_lists


def test_a_list_that_lacks_many_is_accepted_after_a_second_equal_one() -> None:
    assert weighed((0.0, 1))
    assert weighed((0.0, 0))
    assert not weighed((0.0, 2)), "half of them may go at once"
    assert weighed((0.0, 1), (CONFIRM - 0.1, 4)), "one that is as old was made by the same API"
    assert not weighed((0.0, 1), (CONFIRM, 4))


def test_a_resource_that_lists_always_lack_does_not_count_as_missing() -> None:
    assert weighed((0.0, 1), single=0)
    assert not weighed((0.0, 1), single=3)


@pytest.mark.parametrize("what", [what for what in KINDS if TYPES[what].used])
async def test_a_duplicate_that_is_in_use_by_now_is_not_deleted(cloud: Cloud, time: Time, what: str) -> None:
    """Its list may be minutes old."""
    (field,) = TYPES[what].used
    (unused,) = things(what, 1)
    cloud.things[what] = [unused]
    port_, subscription = clouds([]), asks(what)
    await look(port_, CLOUD, subscription)
    used = replace(unused, facts={field: "x"})
    cloud.things[what] = [used]
    call = CloudCall(CLOUD, "delete", (what, "x"), UID, id=unused.id, why=DUPLICATE)
    with pytest.raises(TransientCloudError) as raised:
        await submit(port_, call)
    assert raised.value.cause is Reason.CONFLICT
    assert port_.view(subscription).things == (used,)
    await port_.close()
