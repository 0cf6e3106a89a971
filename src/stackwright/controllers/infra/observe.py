"""Reads the cloud of an object whose resources are in an OpenStack. Errors of the cloud become a value, `failure`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from stackwright.controllers.infra.cloud_observation import CloudObservation, with_error, with_view
from stackwright.controllers.infra.credentials import cloud_of
from stackwright.controllers.infra.managed_resources import Record
from stackwright.controllers.infra.reads import moved_uid, origin_of
from stackwright.controllers.infra.references import Answers
from stackwright.controllers.infra.resolve_references import Resolution, resolve_references
from stackwright.core.objects import is_deleting, key_of
from stackwright.core.openstack.clouds import Clouds, Subscription, look
from stackwright.core.openstack.errors import TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resources import CloudRef
from stackwright.core.ports import Reader


@dataclass(frozen=True)
class ReferencesObservation(CloudObservation):
    """found  the resources that the spec refers to; None before they are resolved and during deletion"""

    found: Resolution | None = None


S = TypeVar("S", bound=CloudObservation)
R = TypeVar("R", bound=ReferencesObservation)
Resolve = Callable[[Mapping[str, Any], Mapping[str, Any], Answers], Resolution]  # (spec, status, answers) → result


async def observe_cloud(
    seen: S, clouds: Clouds, reader: Reader, controller: str, *steps: Callable[[S, CloudRef], Awaitable[S]]
) -> S:
    """Add the origin of the object, its cloud, and the result of each step; an error skips the remaining steps.

    Nothing is read if the object needs no requests to its cloud.
    """
    if not seen.needs_cloud:
        return seen
    key = key_of(seen.obj)
    try:
        async with clouds.in_time(controller, key):
            origin, moved = await origin_of(reader, seen.obj), await moved_uid(reader, seen.obj)
            seen = replace(seen, origin=origin, moved=moved)
            cloud = await cloud_of(reader, key[0], seen.spec["identityRef"])
            seen = replace(seen, cloud=cloud)
            for step in steps:
                seen = await step(seen, cloud)
            return seen
    except (TransientCloudError, TerminalCloudError) as error:
        return with_error(seen, error)


def resolving(clouds: Clouds, resolve: Resolve) -> Callable[[R, CloudRef], Awaitable[R]]:
    """A step that adds the resources that the spec refers to, unless the object is being deleted."""

    async def step(seen: R, cloud: CloudRef) -> R:
        if is_deleting(seen.obj):
            return seen
        return replace(seen, found=await resolve_references(clouds, cloud, partial(resolve, seen.spec, seen.status)))

    return step


def viewing(
    clouds: Clouds, subscription: Callable[[S], Subscription], record_of: Callable[[Mapping[str, Any]], Record]
) -> Callable[[S, CloudRef], Awaitable[S]]:
    """A step that subscribes an object and adds the view of its project."""

    async def step(seen: S, cloud: CloudRef) -> S:
        return with_view(seen, await look(clouds, cloud, subscription(seen)), record_of(seen.status))

    return step
