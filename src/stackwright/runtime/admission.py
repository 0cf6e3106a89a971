"""The admission server: API servers ask it what is wrong with an object before they store it.

They show no certificate, so whoever reaches the port can ask. A question is bounded before anything is built of it, all
that are in memory are bounded together, and they are answered one after the other in a thread of their own: neither the
loop nor the memory of the operator is anybody's to take. One that arrives slowly keeps no other waiting. Nothing of a
question is kept.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol

from aiohttp import web

from stackwright.core.bounds import values_in
from stackwright.core.plan import Object
from stackwright.runtime import faults

PATH = "/validate"
LARGEST = 4 << 20  # bytes: an object as it was and as it is to be, each as large as etcd takes
VALUES = 200_000  # of JSON in both, with what API servers add
HELD = 64 << 20  # bytes of all questions that arrive or wait
CONNECTIONS = 640  # three API servers, each with as many writes at a time as they allow by default, 200
HEADERS = 32  # of one question
AT_ONCE = 8
TURN, ARRIVAL = 8.0, 4.0  # seconds from the beginning; API servers wait ten
LINGER = 1.0  # seconds for who has more to say than is heard


class Check(Protocol):
    def __call__(self, obj: Object, old: Object | None, dry_run: bool) -> list[str]:
        """What is wrong with it, and with changing `old` into it."""


class _Questions:
    """All that arrive or wait. Where they are too large together, the first to begin that is not whole is dropped."""

    def __init__(self) -> None:
        self._arriving: dict[asyncio.Timeout, bytearray] = {}
        self._held = 0

    @asynccontextmanager
    async def arrived(self, request: web.BaseRequest) -> AsyncIterator[bytearray]:
        """Its body, as soon as it is whole."""
        body = bytearray()
        try:
            await self._read(request, body)
            yield body
        finally:
            self._held -= len(body)

    async def _read(self, request: web.BaseRequest, body: bytearray) -> None:
        try:
            async with asyncio.timeout(ARRIVAL) as limit:
                self._arriving[limit] = body
                try:
                    async for chunk in request.content.iter_any():
                        self._add(limit, chunk)
                    self._add(limit, b"")
                finally:
                    self._arriving.pop(limit, None)
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        except (web.RequestPayloadError, ConnectionError):  # it broke off
            raise web.HTTPBadRequest from None

    def _add(self, limit: asyncio.Timeout, chunk: bytes) -> None:
        if limit not in self._arriving:
            raise TimeoutError("dropped")
        body = self._arriving[limit]
        if len(body) + len(chunk) > LARGEST:
            raise web.HTTPRequestEntityTooLarge(LARGEST)
        body += chunk
        self._held += len(chunk)
        while self._held > HELD and self._arriving:
            first = next(iter(self._arriving))
            dropped = self._arriving.pop(first)
            self._held -= len(dropped)
            dropped.clear()
            if not first.expired():
                first.reschedule(0)


class _Server(web.Server):
    """Of very many connections, the oldest that has no whole question is closed. API servers make another one."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._kept: set[web.RequestHandler] = set()

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        there = [each for each in self.connections if each.transport is not None]
        if len(there) > CONNECTIONS:
            closed = next((each for each in there if each not in self._kept), handler)
            if closed.transport is not None:
                closed.transport.abort()  # without a word to whoever may not read it
            closed.force_close()

    @contextmanager
    def kept(self, request: web.BaseRequest) -> Iterator[None]:
        """While it is answered, nothing more is read from its connection."""
        handler, transport = request.protocol, request.transport
        self._kept.add(handler)
        if transport is not None:
            transport.pause_reading()
        try:
            yield
        finally:
            self._kept.discard(handler)
            if transport is not None:
                transport.resume_reading()


class Admission:
    """context  what serves it, with its certificate"""

    def __init__(self, check: Check, context: ssl.SSLContext | None) -> None:
        self._check, self._context = check, context
        # API servers compress nothing, and a few KiB may be very much when they are inflated.
        self._server = _Server(
            self._answer, access_log=None, auto_decompress=False, max_headers=HEADERS, lingering_time=LINGER
        )
        self._questions = _Questions()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._thread = ThreadPoolExecutor(1, "admission")

    async def serve(self, port: int) -> None:
        """Until cancelled."""
        runner = web.ServerRunner(self._server, handle_signals=False)
        await runner.setup()
        try:
            # The API server reaches the pod from outside.
            await web.TCPSite(runner, "0.0.0.0", port, ssl_context=self._context).start()  # noqa: S104
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        if request.path != PATH:
            raise web.HTTPNotFound
        if request.method != "POST":
            raise web.HTTPMethodNotAllowed(request.method, ["POST"])
        if request.headers.get("Content-Encoding", "identity") != "identity":
            raise web.HTTPUnsupportedMediaType
        until = asyncio.get_running_loop().time() + TURN
        async with self._questions.arrived(request) as body:
            with self._server.kept(request):
                return await self._answered(body, until)

    async def _answered(self, body: bytearray, until: float) -> web.Response:
        try:
            async with asyncio.timeout_at(until):
                await self._turns.acquire()
        except TimeoutError:
            raise web.HTTPServiceUnavailable(text="too many concurrent admission requests") from None
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._reviewed, body)
        finally:
            self._turns.release()

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
        except Exception as error:  # nobody but us is told its text
            faults.note("admission", error, kind=str(obj.get("kind"))[:64])
            return _refused(500, faults.words(error))
        return _refused(422, "\n".join(errors)) if errors else {"allowed": True}


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("metadata"), Mapping)


def _refused(code: int, message: str) -> dict[str, Any]:
    return {"allowed": False, "status": {"code": code, "message": message}}
