"""Names are looked up in rounds, for some questions follow from answers. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from stackwright.core.clouds import CloudRef, Clouds, Question, Thing, Trouble
from stackwright.core.names import Answers

ROUNDS = 4  # the network, its subnet, the network of a subnet
MOST = 4 << 20  # bytes of all answers to one object


class Asks(Protocol):
    @property
    def missing(self) -> Sequence[Question]: ...


T = TypeVar("T", bound=Asks)


async def answered(clouds: Clouds, cloud: CloudRef, resolve: Callable[[Answers], T]) -> T:
    """What `resolve` makes of all answers. Raises Trouble or Denied."""
    answers: dict[Question, tuple[Thing, ...]] = {}
    weight = 0
    found = resolve(answers)
    for _ in range(ROUNDS):
        if not found.missing:
            break
        for asked in found.missing:
            answers[asked] = await clouds.find(cloud, asked)
            weight += sum(thing.weight for thing in answers[asked])
            if weight > MOST:
                raise Trouble("Unreachable", f"{cloud}: answers have more than {MOST >> 20} MiB, which is not read")
        found = resolve(answers)
    return found
