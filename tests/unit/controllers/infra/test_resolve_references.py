"""Queries of one object, and the memory of their responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import pytest

from stackwright.controllers.infra.references import Answers, Resolver
from stackwright.controllers.infra.resolve_references import MOST, resolve_references
from stackwright.core.openstack.clouds import Clouds, Query, query
from stackwright.core.openstack.errors import TransientCloudError
from stackwright.core.openstack.resources import CloudRef, CloudResource

CLOUD = CloudRef(("ns", "clouds"), "mine")


@dataclass
class Cloud:
    """It answers every question with this."""

    things: tuple[CloudResource, ...]
    asked: int = 0

    async def find(self, cloud: CloudRef, asked: Query) -> tuple[CloudResource, ...]:
        self.asked += 1
        return self.things

    async def find_all(self, cloud: CloudRef, asked: Sequence[Query]) -> Sequence[tuple[CloudResource, ...]]:
        return [await self.find(cloud, each) for each in asked]


def resolve(count: int, answers: Answers) -> Resolver:
    resolver = Resolver(answers)
    for number in range(count):
        resolver.only_match(query("image", name=str(number)), f"spec.images[{number}]")
    return resolver


async def test_all_missing_resources_are_queried() -> None:
    cloud = Cloud((CloudResource("image", "1"),))
    found = await resolve_references(cast(Clouds, cloud), CLOUD, partial(resolve, 4000))
    assert cloud.asked == 4000
    assert not found.missing and not found.problems


async def test_responses_of_one_object_use_little_memory() -> None:
    cloud = Cloud(tuple(CloudResource("image", f"{n:036}") for n in range(100)))
    with pytest.raises(
        TransientCloudError, match="cloud mine of Secret ns/clouds: the responses exceed the limit of 4 MiB"
    ):
        await resolve_references(cast(Clouds, cloud), CLOUD, partial(resolve, 4000))
    assert cloud.asked * sum(thing.weight for thing in cloud.things) < MOST * 1.1


async def test_a_message_lists_only_a_few_of_many_matches() -> None:
    cloud = Cloud(tuple(CloudResource("image", str(n)) for n in (7, 3, 1)))
    (told,) = (await resolve_references(cast(Clouds, cloud), CLOUD, partial(resolve, 1))).problems
    assert told == "spec.images[0]: image with name 0 must match exactly one: 1, 3, 7"
    cloud = Cloud(tuple(CloudResource("image", str(n)) for n in range(9)))
    (told,) = (await resolve_references(cast(Clouds, cloud), CLOUD, partial(resolve, 1))).problems
    assert told.endswith("must match exactly one: 0, 1, 2, 3, 4, …")
