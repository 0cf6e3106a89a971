"""Shares of something limited: turns are fair, limits hold, nothing is lost."""

from __future__ import annotations

import random

from stackwright.core.shares import Shares


def test_users_are_served_in_turn() -> None:
    shares: Shares[str] = Shares(1, 1)
    for item in ("a1", "a2", "a3", "b1", "c1", "c2"):
        shares.wait(item[0], item)
    begun = []
    while (turn := shares.begin()) is not None:
        assert shares.begin() is None
        begun.append(turn)
        shares.leave(turn)
    assert begun == ["a1", "b1", "c1", "a2", "c2", "a3"]
    assert shares.unused


def test_the_lower_rank_of_one_user_comes_first() -> None:
    shares: Shares[str] = Shares(1, 1)
    for item, rank in (("large", 9), ("small", 1), ("larger", 10), ("later", 1)):
        shares.wait("a", item, rank=rank)
    begun = []
    while (turn := shares.begin()) is not None:
        begun.append(turn)
        shares.leave(turn)
    assert begun == ["small", "later", "large", "larger"]


def test_a_large_item_is_served_despite_a_stream_of_small_ones() -> None:
    shares: Shares[str] = Shares(10, 8)
    for number in range(8):
        shares.wait("small", f"s{number}")
        assert shares.begin() == f"s{number}"
    shares.wait("large", "large", size=5)
    for number in range(3):
        shares.wait("small", f"t{number}")
        assert shares.begin() is None, "there is room for a small one, and it is kept"
        shares.leave(f"s{number}")
    assert shares.begin() == "large"


def test_an_item_larger_than_a_share_runs_alone_for_its_user() -> None:
    shares: Shares[str] = Shares(10, 4)
    shares.wait("a", "a1", size=20)
    shares.wait("a", "a2", size=20)
    assert shares.begin() == "a1"
    assert shares.begin() is None
    shares.leave("a1")
    assert shares.begin() == "a2"


def test_limits_hold_and_nothing_is_lost_in_any_order() -> None:
    source = random.Random(13)
    for _ in range(200):
        total, share = source.randint(1, 12), source.randint(1, 12)
        shares: Shares[int] = Shares(total, share)
        waiting, held = dict[int, tuple[str, int]](), dict[int, tuple[str, int]]()
        for number in range(80):
            if source.random() < 0.5:
                waiting[number] = source.choice("abc"), source.randint(1, min(total, share))
                shares.wait(waiting[number][0], number, waiting[number][1], source.randint(0, 2))
            elif waiting or held:
                gone = source.choice([*waiting, *held])
                shares.leave(gone)
                waiting.pop(gone, None)
                held.pop(gone, None)
            while (begun := shares.begin()) is not None:
                held[begun] = waiting.pop(begun)
            assert sum(size for _, size in held.values()) <= total
            for user in "abc":
                assert sum(size for whose, size in held.values() if whose == user) <= share
            assert held or not waiting
        for item in [*waiting, *held]:
            shares.leave(item)
        assert shares.unused and shares.begin() is None


def test_without_a_fixed_share_each_user_has_a_quarter_of_what_the_others_leave() -> None:
    shares: Shares[str] = Shares(32)
    held = dict[str, int]()
    for user in "abcdefgh":
        for number in range(32):
            shares.wait(user, f"{user}{number}")
        while (turn := shares.begin()) is not None:
            held[turn[0]] = held.get(turn[0], 0) + 1
    assert held == {"a": 8, "b": 6, "c": 4, "d": 3, "e": 2, "f": 2, "g": 1, "h": 1}
