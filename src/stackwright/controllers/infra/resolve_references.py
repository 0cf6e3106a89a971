"""Names are looked up in rounds, for some questions follow from answers. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from stackwright.controllers.infra.references import Answers
from stackwright.core.openstack.clouds import CloudRef, Clouds, Question, Thing, Trouble

ROUNDS = 4  # the network, its subnet, the network of a subnet
AT_ONCE = 8  # questions of one look
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
        missing = list(found.missing)
        for at in range(0, len(missing), AT_ONCE):
            some = missing[at : at + AT_ONCE]
            answers |= zip(some, await clouds.find_all(cloud, some), strict=True)
            weight += sum(thing.weight for asked in some for thing in answers[asked])
            if weight > MOST:
                raise Trouble("Unreachable", f"{cloud}: answers have more than {MOST >> 20} MiB, which is not read")
        found = resolve(answers)
    return found
