"""/healthz: 200, or 503 with the causes: a worker that exceeded its deadline, a dead watch.

Problems that a restart would not fix do not count: an API server that does not answer, a kind that is not served. Nor
does long work within its deadline. /readyz reports that the process has loaded all kinds and serves.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

from stackwright.api.meta import Kind
from stackwright.core.ports import Conflict, TerminalError, TransientError
from stackwright.runtime.cluster.watches import Watches
from stackwright.runtime.listener import FEW, Server
from stackwright.runtime.reconcile import Runtime

ANSWER = 3.0  # timeout in seconds; shorter than that of a probe


class Health:
    def __init__(self, loop: Runtime, watches: Watches) -> None:
        self._loop, self._watches = loop, watches

    async def causes(self) -> list[str]:
        """What hangs, as texts; empty if healthy."""
        silent = self._watches.silent()
        served = await asyncio.gather(*(self._answers(kind) for kind in silent))
        dead = [text for text, answers in zip(silent.values(), served, strict=True) if answers]
        return [*self._loop.stuck(), *dead]

    async def _answers(self, kind: Kind) -> bool:
        """Whether the API server answers requests for a kind; the requested object need not exist."""
        try:
            async with asyncio.timeout(ANSWER):
                await self._loop.ports.cluster.get(kind, ("default" if kind.namespaced else "", "healthz"))
        except (TransientError, TimeoutError):
            return False
        except (TerminalError, Conflict):
            return True
        return True

    async def serve(self, port: int) -> None:
        """Serve /healthz and /readyz until cancelled."""
        await Server(self._respond, connections=FEW, access_log=None).listen(port, None)

    async def _respond(self, request: web.BaseRequest) -> web.Response:
        if request.path == "/readyz":
            return web.json_response({"ready": True})
        if request.path != "/healthz":
            raise web.HTTPNotFound
        causes = await self.causes()
        return web.json_response({"healthy": not causes, "causes": causes}, status=503 if causes else 200)
