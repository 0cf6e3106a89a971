"""Accepts connections within limits of memory and file descriptors, before any data of a client is read.

asyncio's own servers begin a TLS handshake for each connection at once, which uses 300 KiB for up to a minute. Here
handshakes share slots fairly by client address; the latest connection of an address is first, because its client has
waited least. If the number of connections exceeds the limit, one of the address with most connections is closed.
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
CONNECTIONS = 640  # three API servers, each with its default limit of 200 concurrent writes
HANDSHAKES, SHARE = 128, 16  # concurrent handshakes: of all addresses, of one address
HANDSHAKE, LINE = 2.0, 8.0  # timeouts in seconds of a handshake, and of the wait for its slot
BACKLOG = 1024
AGAIN = 0.2  # seconds between two attempts to accept a connection, for example without a free descriptor
ENDING = 1.0  # timeout in seconds for a client to end TLS, and for open responses when the server ends
log = structlog.get_logger()


class _Connection:
    """protocol  None before the handshake
    answered  whether it has received a response
    busy      whether a request is in progress
    """

    def __init__(self, address: str, accepted: socket.socket) -> None:
        self.address, self.accepted = address, accepted
        self.protocol: web.RequestHandler | None = None
        self.task: asyncio.Task[None] | None = None
        self.answered = self.busy = False

    def close(self) -> None:
        """Close the connection without a response, which the client may not read."""
        if self.protocol is None:
            self.accepted.close()  # otherwise the transport closes it
        elif self.protocol.transport is not None:
            self.protocol.transport.abort()
        if self.task is not None:
            self.task.cancel()


class Server(web.Server):
    """aiohttp's server with a listener of its own and a limit of connections."""

    def __init__(self, *given: Any, connections: int | None = None, **more: Any) -> None:
        # Cancels requests of clients that disconnect, which frees their memory.
        super().__init__(*given, handler_cancellation=True, **more)
        # Address → its connections; one that receives a response is moved to the end.
        self._by_address: dict[str, dict[_Connection, None]] = {}
        self._known: dict[web.RequestHandler, _Connection] = {}
        self._count, self._most = 0, connections or CONNECTIONS
        self._slots, self._numbers = FairSlots(HANDSHAKES, SHARE), itertools.count()

    async def listen(self, port: int, context: ssl.SSLContext | None) -> None:
        """Serves until it is cancelled."""
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
                    await asyncio.sleep(0)  # with many clients, `sock_accept` never suspends
            finally:
                await self._end()

    def _add(self, address: str, accepted: socket.socket, context: ssl.SSLContext | None) -> None:
        connection = _Connection(address, accepted)
        self._by_address.setdefault(address, {})[connection] = None
        self._count += 1
        connection.task = asyncio.create_task(self._connect(connection, context))
        if self._count > self._most:
            least = self._least()
            self._forget(least)
            least.close()

    def _least(self) -> _Connection:
        """Returns a connection of the address with most connections: the oldest idle one that has received no response,
        else the oldest idle one, else the latest.
        """
        of_address = max(self._by_address.values(), key=len)
        idle = [each for each in of_address if not each.busy]
        return next((each for each in idle if not each.answered), idle[0] if idle else [*of_address][-1])

    def _forget(self, connection: _Connection) -> None:
        of_address = self._by_address.get(connection.address, {})
        if connection not in of_address:
            return
        del of_address[connection]
        if not of_address:
            del self._by_address[connection.address]
        self._count -= 1

    async def _connect(self, connection: _Connection, context: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with self._slots.of(connection.address, loop.time() + LINE, rank=-next(self._numbers)):
                connection.protocol = protocol = self()
                self._known[protocol] = connection
                await loop.connect_accepted_socket(
                    lambda: protocol,
                    connection.accepted,
                    ssl=context,
                    ssl_handshake_timeout=HANDSHAKE if context else None,
                    ssl_shutdown_timeout=ENDING if context else None,
                )
        except BaseException as error:
            self._drop(connection)
            if not isinstance(error, OSError):  # an OSError is an error of TLS, or a timeout of the wait for a slot
                raise
        finally:
            connection.task = None  # ends a reference cycle, which would delay the release of its memory

    def _drop(self, connection: _Connection) -> None:
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
        """Pauses reading from the connection while a request of it is in progress."""
        handler = request.protocol
        connection = self._known.get(handler)
        if connection is None or handler.transport is None:  # it is closed already
            yield
            return
        connection.busy = True
        handler.transport.pause_reading()
        try:
            yield
        finally:
            connection.busy, connection.answered = False, True
            of_address = self._by_address.get(connection.address, {})
            if connection in of_address:
                of_address[connection] = of_address.pop(connection)
            if handler.transport is not None and not handler.transport.is_closing():
                handler.transport.resume_reading()

    async def _end(self) -> None:
        starting = [each for some in self._by_address.values() for each in some if each.task]
        tasks = [each.task for each in starting if each.task]
        for each in starting:
            each.close()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.pre_shutdown()
        await self.shutdown(ENDING)
