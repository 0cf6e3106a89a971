"""Endpoints for probes: /healthz, /readyz and /servingz.

/healthz returns 200, or 503 with the causes: a worker that exceeded its deadline, or a dead watch. It ignores problems
that a restart does not fix (an API server that does not respond, a kind that is not served), long work within its
deadline, and the wait for the Lease. /readyz returns 200 when the process has loaded all kinds and reconciles, and
before that 503 with the cause, for example while another operator holds the Lease. /servingz returns 200 when the
process accepts the requests of API servers to its Service, which does not need the Lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiohttp import web

from stackwright.api.meta import Kind
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.runtime.cluster.watches import Watches
from stackwright.runtime.listener import FEW, Server
from stackwright.runtime.reconcile import Runtime

ANSWER = 3.0  # timeout in seconds; shorter than that of a probe


class Health:
    """waits   cause for which the process does not reconcile yet, such as the holder of the Lease; empty if none
    serves  whether its webhook, if it has one, responds
    """

    def __init__(
        self,
        loop: Runtime | None = None,
        watches: Watches | None = None,
        waits: Callable[[], str] = str,
        serves: Callable[[], bool] = lambda: True,
    ) -> None:
        self._loop, self._watches, self._waits, self._serves = loop, watches, waits, serves

    def watch(self, loop: Runtime, watches: Watches) -> None:
        """Called when the process has loaded all kinds and begins to reconcile."""
        self._loop, self._watches = loop, watches

    async def causes(self) -> list[str]:
        """Texts about hanging workers and dead watches; empty if healthy."""
        if self._loop is None or self._watches is None:
            return []
        silent = self._watches.silent()
        served = await asyncio.gather(*(self._answers(self._loop, *watched) for watched in silent))
        dead = [text for text, answers in zip(silent.values(), served, strict=True) if answers]
        return [*self._loop.stuck(), *dead]

    async def _answers(self, loop: Runtime, kind: Kind, namespace: str) -> bool:
        """Whether the API server responds to requests for a kind; the requested object need not exist."""
        try:
            async with asyncio.timeout(ANSWER):
                await loop.ports.cluster.get(kind, ((namespace or "default") if kind.namespaced else "", "healthz"))
        except (TransientError, TimeoutError):
            return False
        except (TerminalError, Conflict):
            return True
        return True

    async def serve(self, port: int) -> None:
        """Serve /healthz, /readyz and /servingz until cancelled."""
        await Server(self._respond, connections=FEW, access_log=None).listen(port, None)

    async def _respond(self, request: web.BaseRequest) -> web.Response:
        if request.path == "/readyz":
            waits = self._waits() or ("" if self._loop else "all objects are being read")
            answer = {"ready": False, "waits": waits} if waits else {"ready": True}
            return web.json_response(answer, status=_code(not waits))
        if request.path == "/servingz":
            return web.json_response({"serving": self._serves()}, status=_code(self._serves()))
        if request.path != "/healthz":
            raise web.HTTPNotFound
        causes = await self.causes()
        return web.json_response({"healthy": not causes, "causes": causes}, status=_code(not causes))


def _code(good: bool) -> int:
    return 200 if good else 503
