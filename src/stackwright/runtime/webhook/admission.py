"""The admission server: API servers query it for errors of an object before they store it.

API servers present no certificate, so any client that reaches the port can send requests. Connections are bounded
(`runtime/listener.py`), a request is bounded before it is read, and a large one is read only when memory for it is
free. Requests are reviewed one after the other in a separate process: no client can exhaust the loop or the memory of
the operator. Memory and responses are shared fairly by client address, and the smallest request of an address comes
first. No data of a request is stored.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from aiohttp import web

from stackwright.runtime import faults
from stackwright.runtime.listener import Server
from stackwright.runtime.webhook.process import Reviewer
from stackwright.runtime.webhook.review import Review
from stackwright.slots import FairSlots

PATH = "/validate"
LARGEST = 4 << 20  # bytes: the old and the new object, each of the maximum size in etcd
SMALL = 64 << 10  # bytes of a request that needs no reservation: those of all connections use 40 MiB
HELD = 64 << 20  # bytes of all larger requests that are read or queued; an address may use half of them
HEADERS = 32  # of one request
TURN, ARRIVAL = 8.0, 4.0  # timeouts in seconds of the waits for slots, and of reading a body; API servers wait ten
LINGER = 1.0  # seconds in which surplus data of a client is discarded


class Admission:
    """context  TLS context with the certificate of the server"""

    def __init__(self, reviewer: Reviewer, context: ssl.SSLContext | None) -> None:
        self._reviewer, self._context = reviewer, context
        # API servers do not compress requests, and a few KiB may contain very much compressed data.
        self._server = Server(
            self._answer, access_log=None, auto_decompress=False, max_headers=HEADERS, lingering_time=LINGER
        )
        self._room, self._slots = FairSlots(HELD, HELD // 2), FairSlots(1, 1)

    async def serve(self, port: int) -> None:
        """Serve until cancelled."""
        try:
            await self._reviewer.start()
            await self._server.listen(port, self._context)
        finally:
            await self._reviewer.close()

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        if request.path != PATH:
            raise web.HTTPNotFound
        if request.method != "POST":
            raise web.HTTPMethodNotAllowed(request.method, ["POST"])
        if request.headers.get("Content-Encoding", "identity") != "identity":
            raise web.HTTPUnsupportedMediaType
        until = asyncio.get_running_loop().time() + TURN
        async with self._arrived(request, until) as body:
            with self._server.answering(request):
                return await self._answered(request.remote or "", body, until)

    @asynccontextmanager
    async def _arrived(self, request: web.BaseRequest, until: float) -> AsyncIterator[bytearray]:
        """The body, as soon as it is complete. A large one is read when memory for all of it is free."""
        size = LARGEST if request.content_length is None else request.content_length
        if size > LARGEST:
            raise web.HTTPRequestEntityTooLarge(LARGEST)
        async with AsyncExitStack() as held:
            if size > SMALL:
                await _entered(held, self._room.of(request.remote or "", until, size, rank=size))
            yield await _read(request)

    async def _answered(self, address: str, body: bytearray, until: float) -> web.Response:
        async with AsyncExitStack() as held:
            await _entered(held, self._slots.of(address, until, rank=len(body)))
            review = asyncio.ensure_future(self._reviewer.review(body))
            review.add_done_callback(_record)
            try:
                found = await asyncio.shield(review)
            except asyncio.CancelledError:  # The client left. The process holds the body until the check ends.
                await asyncio.wait({review})
                raise
            kind = "application/json" if found.status == 200 else "text/plain"
            return web.Response(status=found.status, text=found.text, content_type=kind)


def _record(review: asyncio.Future[Review]) -> None:
    """Count an internal error, also of a review whose client has left."""
    if not review.cancelled() and review.exception() is None and (found := review.result()).fault:
        faults.record("admission", found.fault, found.frames, kind=found.kind)


async def _entered(held: AsyncExitStack, turn: AbstractAsyncContextManager[None]) -> None:
    try:
        await held.enter_async_context(turn)
    except TimeoutError:
        raise web.HTTPServiceUnavailable(text="too many concurrent admission requests") from None


async def _read(request: web.BaseRequest) -> bytearray:
    body = bytearray()
    try:
        async with asyncio.timeout(ARRIVAL):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > LARGEST:
                    raise web.HTTPRequestEntityTooLarge(LARGEST)
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except (web.RequestPayloadError, ConnectionError):  # the client closed the connection
        raise web.HTTPBadRequest from None
    return body
