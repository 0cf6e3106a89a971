"""The admission server: API servers ask it what is wrong with an object before they store it.

They show no certificate, so whoever reaches the port can ask. A question is bounded before anything is built of it, few
wait in memory at once, and they are answered one after the other in a thread of their own: neither the loop nor the
memory of the operator is anybody's to take. Nothing of a question is kept.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from aiohttp import web

from stackwright.core.bounds import values_in
from stackwright.core.plan import Object
from stackwright.runtime import faults

PATH = "/validate"
LARGEST = 4 << 20  # bytes: an object as it was and as it is to be, each as large as etcd takes
VALUES = 200_000  # of JSON in both, with what API servers add
AT_ONCE = 8
TURN, ARRIVAL = 8.0, 4.0  # seconds; API servers wait ten


class Check(Protocol):
    def __call__(self, obj: Object, old: Object | None, dry_run: bool) -> list[str]:
        """What is wrong with it, and with changing `old` into it."""


class Admission:
    """context  what serves it, with its certificate"""

    def __init__(self, check: Check, context: ssl.SSLContext | None) -> None:
        self._check, self._context = check, context
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._thread = ThreadPoolExecutor(1, "admission")

    async def serve(self, port: int) -> None:
        """Until cancelled."""
        app = web.Application(client_max_size=LARGEST)
        app.add_routes([web.post(PATH, self._answer)])
        # API servers compress nothing, and a few KiB may be very much when they are inflated.
        runner = web.AppRunner(app, handle_signals=False, access_log=None, auto_decompress=False)
        await runner.setup()
        try:
            # The API server reaches the pod from outside.
            await web.TCPSite(runner, "0.0.0.0", port, ssl_context=self._context).start()  # noqa: S104
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, request: web.Request) -> web.Response:
        if request.headers.get("Content-Encoding", "identity") != "identity":
            raise web.HTTPUnsupportedMediaType
        try:
            async with asyncio.timeout(TURN):
                await self._turns.acquire()
        except TimeoutError:
            raise web.HTTPServiceUnavailable(text="too many questions at once") from None
        try:
            async with asyncio.timeout(ARRIVAL):
                body = await request.read()
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._reviewed, body)
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        except (web.RequestPayloadError, ConnectionError):  # it broke off
            raise web.HTTPBadRequest from None
        finally:
            self._turns.release()

    def _reviewed(self, body: bytes) -> web.Response:
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
