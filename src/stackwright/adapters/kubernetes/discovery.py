"""Which kinds the API server serves, by its discovery.

A response 404 to a request for objects of a kind proves nothing: a proxy, a load balancer, or an API server that has
just started may have sent it. A controller that took it for "no objects" would act as if a Cluster, its pause or the
users of an address were gone. So a kind counts as not served only if the discovery of the API does not list it, twice.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from stackwright.adapters.kubernetes.errors import Call
from stackwright.adapters.kubernetes.paths import kind_path
from stackwright.api.meta import Kind
from stackwright.core.errors import Conflict, NotServed, TerminalError, TransientError, Unavailable

CONFIRM = 5.0  # seconds between the two requests
VALID = 60.0  # seconds after which another request is necessary; one is enough then
PRESENT = "apps"  # a group that each API server serves, so a list without it is not the list of all groups
Ask = Callable[[str], Awaitable[Any]]
"""Path → the decoded response of a GET request."""


class Discovery:
    """What was proven about kinds.

    ask      sends a request for a path of the discovery
    confirm  seconds between the two requests; 0 for one request, as for a command, whose user sees the error
    """

    def __init__(self, ask: Ask, confirm: float) -> None:
        self._ask, self._confirm = ask, confirm
        self._absent: dict[str, float] = {}  # path, because a Kind equals its other versions → time of the last proof
        self._running: dict[str, asyncio.Task[str]] = {}

    def served(self, kind: Kind) -> None:
        """Note a response about objects of the kind."""
        self._absent.pop(kind_path(kind), None)

    async def verified(self, call: Call, error: NotServed) -> TransientError:
        """The error of a request that got `error`: Unavailable unless the discovery confirms it. Requests for one kind
        at the same time share one proof.
        """
        path = kind_path(call.kind)
        if time.monotonic() - self._absent.get(path, -math.inf) < VALID:
            return error
        if path not in self._running:
            self._running[path] = asyncio.create_task(self._doubt(call.kind))
            self._running[path].add_done_callback(lambda _: self._running.pop(path))
        doubt = await asyncio.shield(self._running[path])
        return Unavailable(f"{call}: {doubt}") if doubt else error

    async def _doubt(self, kind: Kind) -> str:
        """Why it is not certain that the kind is not served; empty if it is."""
        path = kind_path(kind)
        try:
            absent = await self._lacks(kind)
            if absent and path not in self._absent and self._confirm:
                await asyncio.sleep(self._confirm)
                absent = await self._lacks(kind)
        except (TransientError, TerminalError, Conflict) as error:
            return f"the response is 404, and the discovery of the API could not confirm this: {error}"
        if not absent:
            self._absent.pop(path, None)
            return "the Kubernetes API returned 404, although it serves this kind"
        self._absent[path] = time.monotonic()
        return ""

    async def _lacks(self, kind: Kind) -> bool:
        """Whether a valid discovery does not list the kind. Raises TransientError if it is not valid."""
        if kind.group:
            groups = _listed(await self._ask("apis"), "APIGroupList", "groups")
            if PRESENT not in _texts(groups, "name"):
                raise TransientError("the list of API groups is incomplete")
            versions = [_mappings(group.get("versions")) for group in groups if group.get("name") == kind.group]
            if not any(kind.version in _texts(each, "version") for each in versions):
                return True
        of_version, _, _ = kind_path(kind).rpartition("/")
        resources = _listed(await self._ask(of_version), "APIResourceList", "resources")
        return kind.plural not in _texts(resources, "name")


def _listed(response: Any, kind: str, field: str) -> list[dict[str, Any]]:
    if not isinstance(response, dict) or response.get("kind") != kind:
        raise TransientError(f"the response is no {kind}")
    return _mappings(response.get(field))


def _texts(mappings: list[dict[str, Any]], field: str) -> set[str]:
    found = [each.get(field) for each in mappings]
    if not all(isinstance(each, str) for each in found):
        raise TransientError(f"an entry of the response has no {field}")
    return {str(each) for each in found}


def _mappings(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise TransientError("the response has no list of mappings")
    return value
