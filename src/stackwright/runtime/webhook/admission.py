"""The admission server: API servers query it for errors of an object before they store it.

API servers present no certificate, so any client that reaches the port can send requests. Connections are bounded
(`runtime/listener.py`), a request is bounded before it is parsed, and a large one is read only when memory for it is
free. Requests are processed one after the other in a separate thread: no client can exhaust the loop or the memory of
the operator. Memory and responses are shared fairly by client address, and the smallest request of an address comes
first. No data of a request is stored.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from aiohttp import web

from stackwright.core.bounds import values_in
from stackwright.core.plan import Object
from stackwright.runtime import faults
from stackwright.runtime.listener import Server
from stackwright.slots import FairSlots

PATH = "/validate"
LARGEST = 4 << 20  # bytes: the old and the new object, each of the maximum size in etcd
VALUES = 200_000  # JSON values in both, with the fields that API servers add
SMALL = 64 << 10  # bytes of a request that needs no reservation: those of all connections use 40 MiB
HELD = 64 << 20  # bytes of all larger requests that are read or queued; an address may use half of them
HEADERS = 32  # of one request
TURN, ARRIVAL = 8.0, 4.0  # timeouts in seconds of the waits for slots, and of reading a body; API servers wait ten
LINGER = 1.0  # seconds in which surplus data of a client is discarded


class Check(Protocol):
    def __call__(self, obj: Object, old: Object | None, dry_run: bool) -> list[str]:
        """Errors of the object, and of the change of `old` into it."""


class Admission:
    """context  TLS context with the certificate of the server"""

    def __init__(self, check: Check, context: ssl.SSLContext | None) -> None:
        self._check, self._context = check, context
        # API servers do not compress requests, and a few KiB may contain very much compressed data.
        self._server = Server(
            self._answer, access_log=None, auto_decompress=False, max_headers=HEADERS, lingering_time=LINGER
        )
        self._room, self._slots = FairSlots(HELD, HELD // 2), FairSlots(1, 1)
        self._thread = ThreadPoolExecutor(1, "admission")

    async def serve(self, port: int) -> None:
        """Serve until cancelled."""
        try:
            await self._server.listen(port, self._context)
        finally:
            self._thread.shutdown(wait=False, cancel_futures=True)

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
            review = asyncio.get_running_loop().run_in_executor(self._thread, self._reviewed, body)
            try:
                return await asyncio.shield(review)
            except asyncio.CancelledError:  # The client left. The thread holds the body until the check ends.
                await asyncio.wait({review})
                raise

    def _reviewed(self, body: bytearray) -> web.Response:
        if values_in(body) > VALUES:
            return web.Response(status=413, text=f"more than {VALUES} values")
        try:
            review = json.loads(body.decode())
            question = review["request"]
            uid, obj, old = question["uid"], question.get("object"), question.get("oldObject")
            if not isinstance(uid, str) or any(not _is_object(each) for each in (obj, old) if each is not None):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return web.Response(status=400, text="no AdmissionReview")
        answer = {"uid": uid, **(self._verdict(obj, old, question.get("dryRun") is True) if obj else {"allowed": True})}
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer})

    def _verdict(self, obj: Object, old: Object | None, dry_run: bool) -> dict[str, Any]:
        try:
            errors = self._check(obj, old, dry_run)
        except Exception as error:  # clients must not see its text
            faults.note("admission", error, kind=str(obj.get("kind"))[:64])
            return _refused(500, faults.words(error))
        return _refused(422, "\n".join(errors)) if errors else {"allowed": True}


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


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("metadata"), Mapping)


def _refused(code: int, message: str) -> dict[str, Any]:
    return {"allowed": False, "status": {"code": code, "message": message}}
