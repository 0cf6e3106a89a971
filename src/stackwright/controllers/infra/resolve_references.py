"""Resolves names in rounds, because some queries depend on earlier results. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from stackwright.controllers.infra.references import Answers
from stackwright.core.openstack.clouds import Clouds, Query
from stackwright.core.openstack.errors import Reason, TransientCloudError
from stackwright.core.openstack.resources import CloudRef, CloudResource

ROUNDS = 4  # longest chain of queries, such as network, subnet, and the subnet's network
AT_ONCE = 8  # queries per call of find_all
MOST = 4 << 20  # bytes; largest total of the results for one object


class Resolution(Protocol):
    @property
    def missing(self) -> Sequence[Query]: ...


T = TypeVar("T", bound=Resolution)


async def resolve_references(clouds: Clouds, cloud: CloudRef, resolve: Callable[[Answers], T]) -> T:
    """The result of `resolve` after all its queries. Raises TransientCloudError or TerminalCloudError."""
    answers: dict[Query, tuple[CloudResource, ...]] = {}
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
                raise TransientCloudError(
                    Reason.UNREACHABLE, f"{cloud}: the responses exceed the limit of {MOST >> 20} MiB"
                )
        found = resolve(answers)
    return found
