"""Accepts connections within bounds of memory and file descriptors, before any data of a client is read.

asyncio's own servers begin a TLS handshake for each connection at once, and hold 300 KiB for each, for up to a minute.
Here handshakes share slots fairly by client address, the latest of an address first, because it has waited least. Of
too many connections, one of the address with most of them is closed: others keep theirs.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from aiohttp import web

from stackwright.slots import FairSlots

FEW = 64  # connections of a port that a few programs poll
CONNECTIONS = 640  # three API servers, each with its default limit of concurrent writes, 200
HANDSHAKES, SHARE = 128, 16  # concurrently; those of one address
HANDSHAKE, LINE = 2.0, 8.0  # seconds that one takes and that its turn is waited for
BACKLOG = 1024
AGAIN = 0.2  # seconds after which accepting is tried again, when no descriptor is left for instance
ENDING = 1.0  # seconds for the other side to end TLS, and for answers when the server ends
log = structlog.get_logger()


class _Connection:
    """protocol  once its handshake has begun
    answered  whether it has had an answer
    busy  while it is answered
    """

    def __init__(self, address: str, accepted: socket.socket) -> None:
        self.address, self.accepted = address, accepted
        self.protocol: web.RequestHandler | None = None
        self.task: asyncio.Task[None] | None = None
        self.answered = self.busy = False

    def close(self) -> None:
        """Without a response to a client that may not read it."""
        if self.protocol is None:
            self.accepted.close()  # later its transport does it
        elif self.protocol.transport is not None:
            self.protocol.transport.abort()
        if self.task is not None:
            self.task.cancel()


class Server(web.Server):
    """aiohttp's server, which listens by itself, with a limit of connections."""

    def __init__(self, *given: Any, connections: int | None = None, **more: Any) -> None:
        # A client that disconnects waits for no response and uses no memory.
        super().__init__(*given, handler_cancellation=True, **more)
        # Address → its connections; those that have had an answer are moved to the end.
        self._there: dict[str, dict[_Connection, None]] = {}
        self._known: dict[web.RequestHandler, _Connection] = {}
        self._count, self._most = 0, connections or CONNECTIONS
        self._slots, self._numbers = FairSlots(HANDSHAKES, SHARE), itertools.count()

    async def listen(self, port: int, context: ssl.SSLContext | None) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        # Clients connect from outside the pod.
        with socket.create_server(("0.0.0.0", port), backlog=BACKLOG) as listening:  # noqa: S104
            listening.setblocking(False)
            try:
                while True:
                    try:
                        accepted, (address, *_) = await loop.sock_accept(listening)
                    except OSError as error:
                        log.warning("no connection can be accepted", port=port, error=error.strerror)
                        await asyncio.sleep(AGAIN)
                        continue
                    self._add(address, accepted, context)
                    await asyncio.sleep(0)  # accepting waits for nothing while many connect
            finally:
                await self._end()

    def _add(self, address: str, accepted: socket.socket, context: ssl.SSLContext | None) -> None:
        made = _Connection(address, accepted)
        self._there.setdefault(address, {})[made] = None
        self._count += 1
        made.task = asyncio.create_task(self._connect(made, context))
        if self._count > self._most:
            least = self._least()
            self._forget(least)
            least.close()

    def _least(self) -> _Connection:
        """Of the address with most connections, the oldest without an answer, else the oldest, else the latest."""
        there = max(self._there.values(), key=len)
        idle = [each for each in there if not each.busy]
        return next((each for each in idle if not each.answered), idle[0] if idle else [*there][-1])

    def _forget(self, connection: _Connection) -> None:
        there = self._there.get(connection.address, {})
        if connection not in there:
            return
        del there[connection]
        if not there:
            del self._there[connection.address]
        self._count -= 1

    async def _connect(self, made: _Connection, context: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with self._slots.of(made.address, loop.time() + LINE, rank=-next(self._numbers)):
                made.protocol = protocol = self()
                self._known[protocol] = made
                await loop.connect_accepted_socket(
                    lambda: protocol,
                    made.accepted,
                    ssl=context,
                    ssl_handshake_timeout=HANDSHAKE if context else None,
                    ssl_shutdown_timeout=ENDING if context else None,
                )
        except BaseException as error:
            self._lost(made)
            if not isinstance(error, OSError):  # that is also an error of TLS, or no turn in time
                raise
        finally:
            made.task = None  # else its memory waits for the garbage collector

    def _lost(self, connection: _Connection) -> None:
        if connection.protocol is None:
            connection.accepted.close()
        else:
            self._known.pop(connection.protocol, None)
        self._forget(connection)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        if (connection := self._known.pop(handler, None)) is not None:
            self._forget(connection)

    @contextmanager
    def answering(self, request: web.BaseRequest) -> Iterator[None]:
        """While it is answered, nothing more is read from its connection."""
        handler = request.protocol
        connection = self._known.get(handler)
        if connection is None or handler.transport is None:  # it is gone already
            yield
            return
        connection.busy = True
        handler.transport.pause_reading()
        try:
            yield
        finally:
            connection.busy, connection.answered = False, True
            there = self._there.get(connection.address, {})
            if connection in there:
                there[connection] = there.pop(connection)
            if handler.transport is not None and not handler.transport.is_closing():
                handler.transport.resume_reading()

    async def _end(self) -> None:
        there = [each for some in self._there.values() for each in some]
        beginning = [each.task for each in there if each.task]
        for each in there:
            if each.task:
                each.close()
        await asyncio.gather(*beginning, return_exceptions=True)
        self.pre_shutdown()
        await self.shutdown(ENDING)
