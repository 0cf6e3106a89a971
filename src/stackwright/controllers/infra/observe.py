"""Reads the cloud of an object whose resources are in an OpenStack. Errors of the cloud become a value, `trouble`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from stackwright.controllers.infra.cloud_observation import CloudObservation, with_error, with_view
from stackwright.controllers.infra.credentials import cloud_of
from stackwright.controllers.infra.managed_resources import Record
from stackwright.controllers.infra.reads import origin_of
from stackwright.core.objects import key_of
from stackwright.core.openstack.clouds import Clouds, Subscription, look
from stackwright.core.openstack.errors import TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resources import CloudRef
from stackwright.core.ports import Reader

S = TypeVar("S", bound=CloudObservation)


async def observe_cloud(
    seen: S, clouds: Clouds, reader: Reader, controller: str, *steps: Callable[[S, CloudRef], Awaitable[S]]
) -> S:
    """Add the origin of the object, its cloud, and what each step reads there; no step follows an error.

    Nothing is read if the object needs no requests to its cloud.
    """
    if not seen.asks:
        return seen
    key = key_of(seen.obj)
    try:
        async with clouds.in_time(controller, key):
            seen = replace(seen, origin=await origin_of(reader, seen.obj))
            cloud = await cloud_of(reader, key[0], seen.spec["identityRef"])
            seen = replace(seen, cloud=cloud)
            for step in steps:
                if not seen.trouble:
                    seen = await step(seen, cloud)
            return seen
    except (TransientCloudError, TerminalCloudError) as error:
        return with_error(seen, error)


def viewing(
    clouds: Clouds, asker: Callable[[S], Subscription], record_of: Callable[[Mapping[str, Any]], Record]
) -> Callable[[S, CloudRef], Awaitable[S]]:
    """A step that subscribes an object and adds the view of its project."""

    async def step(seen: S, cloud: CloudRef) -> S:
        return with_view(seen, await look(clouds, cloud, asker(seen)), record_of(seen.status))

    return step
