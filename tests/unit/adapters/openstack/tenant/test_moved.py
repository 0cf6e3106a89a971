"""An object from another management cluster or from a backup: no list that began before its arrival proves absence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackwright.adapters.openstack.tenant.absence import CONFIRM, SETTLE
from stackwright.core.openstack.clouds import look
from stackwright.core.openstack.resources import CloudResource
from tests.unit.adapters.openstack.tenant.test_clouds import CLOUD, Lists, Time, clouds, lists, time
from tests.unit.adapters.openstack.tenant.test_confirm import KINDS, Cloud, asks, cloud, things

__all__ = ["cloud", "lists", "time"]


def foreign(what: str) -> list[CloudResource]:
    """A resource of another object."""
    return [CloudResource(what, "foreign")]


@pytest.mark.parametrize("what", KINDS)
async def test_an_object_that_arrives_finds_what_began_after_the_last_list(
    what: str, cloud: Cloud, lists: Lists, time: Time
) -> None:
    port_, other, moved = clouds([]), replace(asks(what), uid="other"), replace(asks(what), begun=True, moved="u1")
    cloud.things[what] = foreign(what)
    time.now += 100
    assert (await look(port_, CLOUD, other)).certain
    time.now += 1
    cloud.things[what] = [*foreign(what), *things(what, 1)]
    assert [thing.id for thing in (await look(port_, CLOUD, moved)).things] == ["id-0"]
    await port_.close()


@pytest.mark.parametrize("what", KINDS)
async def test_only_a_second_list_that_begins_late_enough_proves_absence_to_an_object_that_arrives(
    what: str, cloud: Cloud, time: Time
) -> None:
    """A request of the other cluster may be in progress, and one list may be short."""
    port_, other, moved = clouds([]), replace(asks(what), uid="other"), replace(asks(what), begun=True, moved="u1")
    cloud.things[what] = foreign(what)
    time.now += 100
    await look(port_, CLOUD, other)
    time.now += 1
    assert not (await look(port_, CLOUD, moved)).settled
    time.now += SETTLE - 0.5
    assert not (await look(port_, CLOUD, moved)).settled
    cloud.things[what] = [*foreign(what), *things(what, 1)]
    time.now += 0.5
    view = await look(port_, CLOUD, moved)
    assert ([thing.id for thing in view.things], view.certain) == (["id-0"], True)
    await port_.close()


async def test_a_late_first_list_is_confirmed_by_a_second_one(cloud: Cloud, time: Time) -> None:
    """The object did not wait, so nothing was listed for it."""
    port_, other = clouds([]), replace(asks("port"), uid="other")
    moved = replace(asks("port"), begun=True, moved="u1")
    cloud.things["port"] = foreign("port")
    time.now += 100
    await look(port_, CLOUD, other)
    time.now += 1
    await look(port_, CLOUD, replace(moved, waits=False))
    time.now += SETTLE
    cloud.wrong["port"] = foreign("port")
    assert not (await look(port_, CLOUD, moved)).settled
    cloud.wrong["port"] = [*foreign("port"), *things("port", 1)]
    time.now += CONFIRM
    view = await look(port_, CLOUD, moved)
    assert ([thing.id for thing in view.things], view.certain) == (["id-0"], True)
    await port_.close()


@pytest.mark.parametrize("before", ["", "u0"])
async def test_an_object_that_returns_is_as_unknown_as_one_that_arrives(before: str, cloud: Cloud, time: Time) -> None:
    """Another cluster may have created its resources in the meantime."""
    port_, time.now = clouds([]), time.now + 100
    here = replace(asks("port"), begun=bool(before), moved=before)
    for _ in range(3):
        await look(port_, CLOUD, here)
        time.now += SETTLE
    assert (await look(port_, CLOUD, here)).certain
    back = replace(here, begun=True, moved="u1")
    assert not (await look(port_, CLOUD, back)).settled
    time.now += SETTLE
    assert (await look(port_, CLOUD, back)).certain
    await port_.close()


@pytest.mark.parametrize("begun", [False, True])
async def test_an_object_that_never_moved_needs_no_list_of_its_own(begun: bool, cloud: Cloud, time: Time) -> None:
    port_, one, two = clouds([]), asks("port"), replace(asks("port"), begun=begun)
    time.now += 100
    await look(port_, CLOUD, replace(one, uid="begun", begun=True))
    time.now += CONFIRM
    await look(port_, CLOUD, replace(one, uid="begun", begun=True))
    time.now += 1
    before = len(cloud.asked)
    assert (await look(port_, CLOUD, two)).certain
    assert len(cloud.asked) == before
    await port_.close()
