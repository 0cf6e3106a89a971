"""Servers are built in turn: so many at a time, and nobody is forgotten."""

from __future__ import annotations

import pytest

from stackwright.adapters.openstack_turns import AFTER, AT_ONCE, LONG, Turns, Who
from stackwright.core.clouds import Trouble


def who(number: int) -> Who:
    return "server", ("ns", str(number))


def take(turns: Turns, number: int, now: float = 0.0) -> bool:
    """Whether its server is being built."""
    try:
        turns.take(f"uid{number}", who(number), now)
    except Trouble as error:
        assert (error.reason, error.after) == ("WaitingForTurn", AFTER)
        return False
    turns.begun(f"uid{number}", f"id{number}")
    return True


@pytest.fixture
def turns() -> Turns:
    """All turns are taken."""
    made = Turns()
    assert all(take(made, number) for number in range(AT_ONCE))
    return made


def test_one_more_than_are_built_at_once_waits_and_is_told_when_one_has_ended(turns: Turns) -> None:
    assert not take(turns, 100)
    assert not take(turns, 101)
    assert turns.ended({"id7"}) == [who(100)]
    assert take(turns, 100)
    assert not take(turns, 102)
    assert turns.ended({"id8", "id9"}) == [who(101), who(102)]


def test_what_ends_and_was_never_asked_for_here_gives_nobody_a_turn(turns: Turns) -> None:
    assert not take(turns, 100)
    assert turns.ended({"somebody's"}) == []
    assert not take(turns, 100)


def test_a_request_that_failed_gives_its_turn_on(turns: Turns) -> None:
    assert not take(turns, 100)
    assert turns.failed("uid3") == [who(100)]
    assert take(turns, 100)


def test_who_has_a_turn_may_ask_again_after_a_request_that_seemed_to_fail(turns: Turns) -> None:
    assert take(turns, 3)


def test_who_was_told_and_came_too_late_queues_again(turns: Turns) -> None:
    assert not take(turns, 100)
    assert turns.ended({"id7"}) == [who(100)]
    assert take(turns, 101), "it came in between"
    assert not take(turns, 100)
    assert turns.ended({"id8"}) == [who(100)]


def test_what_is_built_for_ever_holds_up_nobody(turns: Turns) -> None:
    assert not take(turns, 100, LONG - 1)
    assert take(turns, 100, LONG)


def test_everybody_gets_a_turn_whoever_ends_first() -> None:
    turns, built, queued = Turns(), [], set(range(500))
    building = {number for number in sorted(queued) if take(turns, number)}
    queued -= building
    while building:
        done = building.pop()
        built.append(done)
        for _, (_, name) in turns.ended({f"id{done}"}):
            assert take(turns, int(name))
            building.add(int(name))
            queued.discard(int(name))
        assert len(building) == min(AT_ONCE, 500 - len(built))
    assert sorted(built) == list(range(500))
