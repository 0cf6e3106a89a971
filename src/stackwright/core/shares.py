"""Fair shares of limited slots, such as processes or memory: the choice of the next waiting item. Pure.

Users, such as namespaces or addresses, are served in turn, however many waiting items a user has. The items of one user
are ordered by rank, then by the start of their wait.
"""

from __future__ import annotations

import itertools
from bisect import insort
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class _Turn(Generic[T]):
    user: str
    item: T
    size: int
    order: tuple[int, int]


class Shares(Generic[T]):
    """total  maximum size held concurrently
    share  maximum size of one user; a larger item may run alone. None: a quarter of what the others leave free, so
           that each of many users that hold their slots for long leaves room for another one
    """

    def __init__(self, total: int, share: int | None = None) -> None:
        self._total, self._share = total, share
        self._held: Counter[str] = Counter()
        self._turns: dict[T, _Turn[T]] = {}
        # Waiting items per user, in the order of service. No queue is empty.
        self._lines: dict[str, list[_Turn[T]]] = {}
        self._numbers = itertools.count()

    @property
    def unused(self) -> bool:
        """Whether no item is in progress or waiting."""
        return not self._turns

    def wait(self, user: str, item: T, size: int = 1, rank: int = 0) -> None:
        turn = _Turn(user, item, size, (rank, next(self._numbers)))
        self._turns[item] = turn
        insort(self._lines.setdefault(user, []), turn, key=lambda each: each.order)

    def begin(self) -> T | None:
        """The next item; it holds its size until it leaves."""
        turn = next((line[0] for line in self._lines.values() if self._fits(line[0])), None)
        # Smaller items do not overtake a large one: all wait until its size is free.
        if turn is None or (self._held and self._held.total() + turn.size > self._total):
            return None
        self._unlist(turn)
        if line := self._lines.pop(turn.user, None):
            self._lines[turn.user] = line  # the user's next item follows those of the others
        self._held[turn.user] += turn.size
        return turn.item

    def leave(self, item: T) -> None:
        """Removes an item, which frees its size if it was begun."""
        turn = self._turns.pop(item)
        if turn in self._lines.get(turn.user, ()):
            self._unlist(turn)
        else:
            self._held[turn.user] -= turn.size
            self._held += Counter()  # drops zeros

    def _fits(self, turn: _Turn[T]) -> bool:
        held = self._held.get(turn.user, 0)
        free = self._total - self._held.total() + held
        return held == 0 or held + turn.size <= (free // 4 if self._share is None else self._share)

    def _unlist(self, turn: _Turn[T]) -> None:
        line = self._lines[turn.user]
        line.remove(turn)
        if not line:
            del self._lines[turn.user]
