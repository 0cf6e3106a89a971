"""The limiter of requests and servers: the limit adapts to their durations, and no waiting object is forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.adapters.openstack.tenant.limiter import (
    AFTER,
    BUILDS,
    HELD,
    LONG,
    REQUESTS,
    ConcurrencyLimiter,
    Scheduler,
    Subscriber,
)
from stackwright.core.openstack.calls import CloudCall, Do
from stackwright.core.openstack.clouds import Subscription
from stackwright.core.openstack.errors import Reason
from stackwright.core.openstack.resources import SERVER_KEY, CloudRef, ResourceKey

LEAST, MOST = 4, 20
PORT: ResourceKey = ("port", "p")
CLOUD = CloudRef(("ns", "clouds"), "mine")


def who(number: int) -> Subscriber:
    return "server", ("ns", str(number))


def take(turns: ConcurrencyLimiter, number: int, now: float = 0.0) -> bool:
    """Whether it is its turn."""
    deferred = turns.take(f"uid{number}", who(number), now)
    assert deferred is None or (deferred.reason, deferred.after) == (Reason.WAITING_FOR_TURN, AFTER)
    return deferred is None


@pytest.fixture
def turns() -> ConcurrencyLimiter:
    """All turns are taken."""
    made = ConcurrencyLimiter("others are built", LEAST, MOST)
    assert all(take(made, number) for number in range(LEAST))
    return made


def test_a_request_over_the_limit_is_woken_when_a_slot_frees(turns: ConcurrencyLimiter) -> None:
    assert not take(turns, 100)
    assert not take(turns, 101)
    assert turns.end("uid1", 1.0, well=False) == [who(100)]
    assert take(turns, 100, 1.0)
    assert not take(turns, 102, 1.0)
    assert turns.end("uid2", 2.0, well=False) == [who(101)]


@pytest.mark.parametrize("most", [1, MOST])
def test_the_message_of_a_waiting_request_does_not_depend_on_the_limit(most: int) -> None:
    """A new message is a write, and wakes all that watch the object."""
    turns = ConcurrencyLimiter("others are built", most, most)
    assert all(take(turns, number) for number in range(most))
    assert turns.take("late", who(100), 0.0).text == "Waiting for a free slot: others are built"


def test_a_granted_slot_is_reserved_for_a_while(turns: ConcurrencyLimiter) -> None:
    assert not take(turns, 100)
    assert turns.end("uid1", 1.0, well=False) == [who(100)]
    assert not take(turns, 101, 1.0), "somebody else's"
    assert take(turns, 101, 1.0 + HELD), "who does not come loses it"
    assert not take(turns, 100, 1.0 + HELD)


def test_an_unused_slot_passes_on_with_the_next_request(turns: ConcurrencyLimiter) -> None:
    assert not any(take(turns, number) for number in (100, 101, 102))
    assert turns.end("uid1", 1.0, well=False) == [who(100)]
    assert turns.end("uid2", 1.0 + HELD, well=False) == [who(101), who(102)]


def test_the_end_of_a_request_without_a_slot_frees_none(turns: ConcurrencyLimiter) -> None:
    assert not take(turns, 100)
    assert turns.end("somebody's", 1.0) == []
    assert not take(turns, 100)


def test_a_request_with_a_slot_may_be_repeated(turns: ConcurrencyLimiter) -> None:
    assert take(turns, 3)
    assert not take(turns, 100)


def test_an_endless_request_does_not_block_others(turns: ConcurrencyLimiter) -> None:
    assert not take(turns, 100, LONG - 1)
    assert take(turns, 100, LONG)


def served(turns: ConcurrencyLimiter, seconds: Any, count: int) -> None:
    """This many requests, each of which takes `seconds(number of concurrent ones)`; all start together."""
    now, number, going = 0.0, 0, []
    while number < count or going:
        while number < count and take(turns, number, now):
            going.append((now + seconds(len(going) + 1), number))
            number += 1
        going.sort()
        now, ended = going.pop(0)
        turns.end(f"uid{ended}", now)


def test_as_long_as_each_is_quick_more_are_done_at_a_time() -> None:
    turns = ConcurrencyLimiter("", LEAST, MOST)
    served(turns, lambda there: 3.0, 100)
    assert turns.at_once == MOST


def test_requests_that_slow_down_in_parallel_get_a_low_limit() -> None:
    turns = ConcurrencyLimiter("", LEAST, 100)
    served(turns, lambda there: 3.0 if there <= 6 else there, 300)
    assert LEAST <= turns.at_once <= 10


def test_a_permanently_slower_cloud_does_not_lower_the_limit() -> None:
    turns = ConcurrencyLimiter("", LEAST, MOST)
    served(turns, lambda there: 1.0, 50)
    served(turns, lambda there: 10.0, 60)
    assert turns.at_once < MOST
    served(turns, lambda there: 10.0, 400)
    assert turns.at_once == MOST


def test_failed_requests_do_not_change_the_limit(turns: ConcurrencyLimiter) -> None:
    for number in range(LEAST):
        turns.end(f"uid{number}", 0.1, well=False)
    assert turns.at_once == LEAST


def test_every_request_gets_a_slot_in_any_order_of_completion() -> None:
    turns, done = ConcurrencyLimiter("", LEAST, MOST), []
    going = [number for number in range(500) if take(turns, number)]
    while going:
        done.append(going.pop())
        for _, (_, name) in turns.end(f"uid{done[-1]}", 0.0):
            assert take(turns, int(name))
            going.append(int(name))
        assert len(going) == min(turns.at_once, 500 - len(done))
    assert sorted(done) == list(range(500))


def call(number: int, key: ResourceKey = SERVER_KEY, do: Do = "create") -> CloudCall:
    return CloudCall(CLOUD, do, key, f"uid{number}")


def subscription(number: int) -> Subscription:
    return Subscription(*who(number), f"uid{number}", ("server", "port"))


def begin(order: Scheduler, number: int, key: ResourceKey = SERVER_KEY, now: float = 0.0) -> bool:
    return order.begin(call(number, key), subscription(number), now) is None


def end(
    order: Scheduler, number: int, id_: str, key: ResourceKey = SERVER_KEY, do: Do = "create", now: float = 0.0
) -> list[Subscriber]:
    return order.end(call(number, key, do), subscription(number), id_, now)


@pytest.fixture
def order() -> Scheduler:
    """All servers of a turn are being built."""
    made = Scheduler()
    for number in range(BUILDS[0]):
        assert begin(made, number, PORT)
        assert end(made, number, f"port{number}", PORT) == []
        assert begin(made, number)
        assert end(made, number, f"id{number}") == []
    return made


def test_a_server_holds_its_slot_from_its_first_port_until_it_is_built(order: Scheduler) -> None:
    assert not begin(order, 100, PORT)
    assert order.built({("server", "somebody's"): True}, 1.0) == []
    assert order.built({("server", "id2"): False}, 1.0) == [who(100)]
    assert order.built({("server", "id2"): False}, 1.0) == []
    assert begin(order, 100, PORT)


def test_requests_without_a_server_do_not_wait_for_servers(order: Scheduler) -> None:
    network = Subscription("capicluster", ("ns", "c"), "uid100", ("network",))
    order.begin(call(100, ("network", "")), network, 0.0)


@pytest.mark.parametrize("key", [PORT, SERVER_KEY])
def test_a_server_with_a_failed_request_frees_its_slot(key: ResourceKey) -> None:
    order = Scheduler()
    for number in range(BUILDS[0]):
        assert begin(order, number, key)
        end(order, number, f"id{number}" if number else "", key)
    assert begin(order, 100, key)
    assert not begin(order, 101, key)


def test_a_server_in_deletion_frees_its_slot(order: Scheduler) -> None:
    assert not begin(order, 100, PORT)
    order.begin(call(1, SERVER_KEY, "delete"), subscription(1), 0.0)
    assert end(order, 1, "id1", SERVER_KEY, "delete") == [who(100)]


def test_a_wait_for_a_request_slot_keeps_the_server_slot() -> None:
    order, least = Scheduler(), REQUESTS[0]
    assert all(begin(order, number) for number in range(least))
    assert not begin(order, least), "so many requests at a time"
    assert end(order, 0, "id0") == [who(least)]
    assert begin(order, least)


def test_a_list_of_servers_counts_as_a_creation_but_one_creation_always_runs() -> None:
    order, most = Scheduler(), REQUESTS[1]
    for number in range(10):  # quick ones: as many as may be
        assert begin(order, number) and end(order, number, f"id{number}") == []
        order.built({("server", f"id{number}"): True}, 1.0)
    assert all(begin(order, number) for number in range(10, 10 + most))
    assert not begin(order, 20)
    order.lists({"server": 1})
    assert end(order, 10, "id10") == [], "the list has his turn"
    order.lists({"server": 0})
    assert end(order, 11, "id11") == [who(20)]
    order.lists({"server": 5})
    assert begin(order, 20)
    assert not begin(order, 21)
    assert end(order, 20, "id20") == [who(21)]


def test_a_repeated_request_is_measured_from_its_first_start() -> None:
    """Otherwise a slow request would count as fast, and raise the limit."""
    turns = ConcurrencyLimiter("Servers are built", LEAST, MOST)
    assert take(turns, 1, 0.0)
    turns.end("uid1", 10.0)
    before = turns._limit
    assert take(turns, 2, 100.0)
    assert take(turns, 2, 195.0)
    turns.end("uid2", 200.0)
    assert turns._limit < before
