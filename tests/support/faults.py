"""Fault injection: a Crash before or after the n-th write, counted over all ports.

A scenario runs with each n, restarts with the state of the cluster, and must converge to the same state.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from stackwright.api.meta import Kind
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.clouds import Clouds, Deferred, Done, Query, Subscription
from stackwright.core.openstack.resources import CloudRef, CloudResource, ProjectView
from stackwright.core.plan import DeleteAgents, EnsureAccount, HelmUpgrade, Key, Object
from stackwright.core.ports import Agents, Cluster, Helm, Patch, Ports, Provider

T = TypeVar("T")


class Crash(BaseException):
    """Simulates the death of the process; a BaseException, so that handlers of Exception do not catch it."""


class Fuse:
    """Counts writes from 1 and crashes before or after the n-th; 0 means never. `count` is the number of writes."""

    def __init__(self, crash_at: int = 0, after: bool = False) -> None:
        self.crash_at = crash_at
        self.after = after
        self.count = 0

    async def write(self, what: Awaitable[T]) -> T:
        self.count += 1
        due = self.count == self.crash_at
        if due and not self.after:
            if hasattr(what, "close"):
                what.close()
            raise Crash(f"before write {self.count}")
        result = await what
        if due:
            raise Crash(f"after write {self.count}")
        return result


class FaultyCluster:
    def __init__(self, inner: Cluster, crash_at: int = 0, after: bool = False, fuse: Fuse | None = None) -> None:
        self.fuse = fuse or Fuse(crash_at, after)
        self._inner = inner

    async def get(self, kind: Kind, key: Key) -> Object | None:
        return await self._inner.get(kind, key)

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        return await self._inner.list(kind, namespace, labels)

    async def apply(self, kind: Kind, obj: Object, manager: str) -> Object:
        return await self.fuse.write(self._inner.apply(kind, obj, manager))

    async def create(self, kind: Kind, obj: Object, manager: str) -> Object:
        return await self.fuse.write(self._inner.create(kind, obj, manager))

    async def apply_status(self, kind: Kind, obj: Object, manager: str) -> Object:
        return await self.fuse.write(self._inner.apply_status(kind, obj, manager))

    async def patch(self, kind: Kind, key: Key, patch: Patch) -> Object:
        return await self.fuse.write(self._inner.patch(kind, key, patch))

    async def delete(self, kind: Kind, key: Key, uid: str = "") -> None:
        await self.fuse.write(self._inner.delete(kind, key, uid))

    async def event(self, obj: Object, reason: str, message: str, warning: bool) -> None:
        await self.fuse.write(self._inner.event(obj, reason, message, warning))


class FaultyHelm:
    def __init__(self, inner: Helm, fuse: Fuse) -> None:
        self._inner, self._fuse = inner, fuse

    async def upgrade(self, action: HelmUpgrade) -> None:
        await self._fuse.write(self._inner.upgrade(action))

    async def rollback(self, release: Key, revision: int, manifest: str) -> None:
        await self._fuse.write(self._inner.rollback(release, revision, manifest))

    async def uninstall(self, release: Key) -> None:
        await self._fuse.write(self._inner.uninstall(release))


class FaultyProvider:
    def __init__(self, inner: Provider[Any], fuse: Fuse) -> None:
        self._inner, self._fuse = inner, fuse

    async def account(self, action: EnsureAccount, admin: Mapping[str, str], own: Mapping[str, str]) -> None:
        await self._fuse.write(self._inner.account(action, admin, own))

    async def missing(self, action: EnsureAccount, admin: Mapping[str, str], own: Mapping[str, str] | None) -> str:
        return await self._inner.missing(action, admin, own)


class FaultyAgents:
    def __init__(self, inner: Agents, fuse: Fuse) -> None:
        self._inner, self._fuse = inner, fuse

    async def forget(self, action: DeleteAgents, admin: Mapping[str, str]) -> dict[str, str]:
        return await self._fuse.write(self._inner.forget(action, admin))


class FaultyClouds:
    def __init__(self, inner: Clouds, fuse: Fuse) -> None:
        self._inner, self._fuse = inner, fuse

    def in_time(self, controller: str, key: Key) -> AbstractAsyncContextManager[None]:
        return self._inner.in_time(controller, key)

    async def subscribe(self, cloud: CloudRef, subscription: Subscription) -> None:
        await self._inner.subscribe(cloud, subscription)

    def view(self, subscription: Subscription) -> ProjectView:
        return self._inner.view(subscription)

    async def find(self, cloud: CloudRef, asked: Query) -> tuple[CloudResource, ...]:
        return await self._inner.find(cloud, asked)

    async def find_all(self, cloud: CloudRef, asked: Sequence[Query]) -> Sequence[tuple[CloudResource, ...]]:
        return await self._inner.find_all(cloud, asked)

    async def submit(self, call: CloudCall) -> Done | Deferred:
        return await self._fuse.write(self._inner.submit(call))


def faulty(ports: Ports, fuse: Fuse) -> Ports:
    """Ports whose writes one fuse counts."""
    wrapped: dict[str, Any] = {
        "cluster": FaultyCluster(ports.cluster, fuse=fuse),
        "helm": FaultyHelm(ports.helm, fuse),
        "providers": {action: FaultyProvider(provider, fuse) for action, provider in ports.providers.items()},
        "agents": FaultyAgents(ports.agents, fuse),
        "clouds": FaultyClouds(ports.clouds, fuse),
    }
    return dataclasses.replace(ports, **wrapped)
