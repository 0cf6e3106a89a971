"""Clients cannot exhaust the memory, the descriptors or the connections of the operator."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import aiohttp
import pytest
from aiohttp import web

from stackwright.runtime import listener, metrics
from stackwright.runtime.health import Health
from stackwright.runtime.listener import FEW, HANDSHAKES, SHARE, Server
from support.tls_clients import connected, contexts
from support.waiting import PATIENCE, until

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LONG = 2 * PATIENCE  # seconds: a test that waits so long fails
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No handshake is given up during a test, on however slow a machine."""
    monkeypatch.setattr(listener, "HANDSHAKE", LONG)
    monkeypatch.setattr(listener, "LINE", LONG)


async def hello(_: web.BaseRequest) -> web.Response:
    return web.Response(text="hello")


class Counting(Server):
    """made  connections that it has accepted"""

    made = 0

    def _add(self, *given: Any) -> None:
        super()._add(*given)
        self.made += 1

    def count(self, answered: Callable[[Any], object]) -> int:
        """Connections at present of which this is true."""
        return sum(bool(answered(each)) for there in self._by_address.values() for each in there)


class Listening:
    """A server, and clients of many addresses."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port, self.silent, self.connected = port, list[socket.socket](), list[asyncio.StreamWriter]()
        self.context, self.trusting = contexts(folder)
        self.server = Counting(self.answer, access_log=None)
        self.answered: Callable[[web.BaseRequest], Coroutine[Any, Any, web.Response]] = hello

    async def answer(self, request: web.BaseRequest) -> web.Response:
        with self.server.answering(request):
            return await self.answered(request)

    async def connect(self, address: str = "127.0.0.1") -> Streams:
        one = await connected(self.port, address)
        made = await asyncio.open_connection(sock=one, ssl=self.trusting, server_hostname="")
        self.connected.append(made[1])
        return made

    async def say_nothing(self, count: int, *addresses: str) -> None:
        """Connections that never begin their handshake, all of which the server has accepted."""
        wanted = self.server.made + count
        for number in range(count):
            self.silent.append(await connected(self.port, addresses[number % len(addresses)]))
        await until(lambda: self.server.made == wanted)

    async def shaking(self, count: int) -> None:
        """Until so many handshakes have begun."""
        await until(lambda: self.server.count(lambda each: each.protocol) == count)


@asynccontextmanager
async def listening(port: int, folder: Path) -> AsyncIterator[Listening]:
    made = Listening(port, folder)
    task = asyncio.create_task(made.server.listen(port, made.context))
    try:
        yield made
    finally:
        for silent in made.silent:
            silent.close()
        for writer in made.connected:
            writer.close()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert made.server._count == 0 and not made.server._known
        assert made.server._slots._shares.unused


@asynccontextmanager
async def serving(server: Coroutine[Any, Any, None]) -> AsyncIterator[list[socket.socket]]:
    """While a server runs; the connections in the list are closed at the end."""
    task, connections = asyncio.create_task(server), list[socket.socket]()
    try:
        yield connections
    finally:
        for each in connections:
            each.close()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def asked(streams: Streams) -> bytes:
    """The answer; empty if the connection is closed."""
    reader, writer = streams
    try:
        writer.write(GET)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
        await reader.readexactly(5)
    except (OSError, asyncio.IncompleteReadError):
        return b""
    return head.splitlines()[0]


async def test_connections_without_a_handshake_use_little_memory(unused_tcp_port: int, tmp_path: Path) -> None:
    """asyncio's servers hold 300 KiB for each."""
    async with listening(unused_tcp_port, tmp_path) as there:
        tracemalloc.start()
        try:
            await there.say_nothing(200, "127.0.0.2")
            await there.shaking(SHARE)
            alone = tracemalloc.get_traced_memory()[1]
            await there.say_nothing(200, *(f"127.0.1.{number}" for number in range(1, 100)))
            await there.shaking(HANDSHAKES)
            together = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert there.server._count <= listener.CONNECTIONS
        assert alone < SHARE * 320_000 + (4 << 20)
        assert together < HANDSHAKES * 320_000 + (8 << 20)


async def test_connections_without_a_handshake_do_not_block_others(unused_tcp_port: int, tmp_path: Path) -> None:
    """Others have their turn long before those are given up."""
    async with listening(unused_tcp_port, tmp_path) as there:
        await there.say_nothing(200, "127.0.0.2", "127.0.0.3", "127.0.0.4")
        await there.shaking(3 * SHARE)
        async with asyncio.timeout(PATIENCE):
            for _ in range(3):
                assert b" 200 " in await asked(await there.connect())


async def test_of_an_address_the_latest_connection_has_its_handshake_first(
    unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "SHARE", 1)
    begun, go = list[int](), asyncio.Event()

    async def handshake(protocol: Callable[[], asyncio.Protocol], accepted: socket.socket, **_: Any) -> None:
        begun.append(accepted.getpeername()[1])
        await go.wait()
        accepted.close()
        raise OSError

    monkeypatch.setattr(asyncio.get_running_loop(), "connect_accepted_socket", handshake)
    server = Server(hello)
    async with serving(server.listen(unused_tcp_port, None)) as connections:
        for number in range(1, 5):
            connections.append(await connected(unused_tcp_port, "127.0.0.2"))
            await until(lambda: server._count == number)  # noqa: B023 - it is called in this iteration
        first, *others = (each.getsockname()[1] for each in connections)
        assert begun == [first], "the others wait"
        go.set()
        await until(lambda: server._count == 0)
        assert begun == [first, *reversed(others)]


async def test_an_endless_handshake_is_aborted(
    unused_tcp_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "HANDSHAKE", 0.3)
    async with listening(unused_tcp_port, tmp_path) as there:
        await there.say_nothing(20, "127.0.0.2")
        await until(lambda: there.server._count == 0)


async def test_too_many_connections_close_one_of_the_busiest_address(
    unused_tcp_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "CONNECTIONS", 40)
    async with listening(unused_tcp_port, tmp_path) as there:
        idle, used = await there.connect(), await there.connect()
        assert b" 200 " in await asked(used)
        flood = [await there.connect("127.0.0.2") for _ in range(60)]
        await there.say_nothing(60, "127.0.0.2")
        assert there.server._count <= 40
        assert b" 200 " in await asked(idle)
        assert b" 200 " in await asked(used)
        assert await asked(flood[0]) == b""


async def test_a_connection_that_is_used_again_is_closed_after_those_that_never_were(
    unused_tcp_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by connections of the same address."""
    monkeypatch.setattr(listener, "CONNECTIONS", 20)
    async with listening(unused_tcp_port, tmp_path) as there:
        used = await there.connect()
        for _ in range(3):
            assert b" 200 " in await asked(used)
            for _ in range(25):
                await there.connect()


async def test_the_latest_connection_of_a_fully_busy_address_is_closed(
    unused_tcp_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "CONNECTIONS", 10)
    go = asyncio.Event()

    async def slow(request: web.BaseRequest) -> web.Response:
        await go.wait()
        return await hello(request)

    async with listening(unused_tcp_port, tmp_path) as there:
        there.answered = slow
        many = [await there.connect("127.0.0.2") for _ in range(10)]
        answers = [asyncio.create_task(asked(each)) for each in many]
        await until(lambda: there.server.count(lambda each: each.busy) == 10)
        other = await there.connect()
        answers.append(asyncio.create_task(asked(other)))
        await until(lambda: there.server.count(lambda each: each.busy and each.address == "127.0.0.1"))
        go.set()
        assert [each != b"" for each in await asyncio.gather(*answers)] == [*[True] * 9, False, True]


async def test_a_legitimate_burst_is_served(unused_tcp_port: int, tmp_path: Path) -> None:
    async with listening(unused_tcp_port, tmp_path) as there:

        async def one() -> bytes:
            return await asked(await there.connect())

        answers = await asyncio.gather(*(one() for _ in range(300)))
    assert all(b" 200 " in each for each in answers)


async def test_a_connection_without_tls_is_no_fault(
    unused_tcp_port: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(unused_tcp_port, tmp_path) as there:
        for _ in range(3):
            reader, writer = await asyncio.open_connection(sock=await connected(unused_tcp_port, "127.0.0.1"))
            writer.write(GET)
            assert b"HTTP" not in await asyncio.wait_for(reader.read(), PATIENCE)
            writer.close()
        with pytest.raises((OSError, ssl.SSLError)):
            await asyncio.open_connection("127.0.0.1", unused_tcp_port, ssl=ssl.create_default_context())
        assert b" 200 " in await asked(await there.connect())
    assert not caplog.records


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize("what", ["health", "metrics"])
async def test_ports_that_are_polled_have_few_connections(unused_tcp_port: int, what: str) -> None:
    """prometheus_client uses a thread per connection; aiohttp's own server accepts any number."""
    serve = metrics.serve if what == "metrics" else Health(Mock(stuck=list), Mock(silent=dict)).serve
    before = threading.active_count()  # threads of earlier tests
    async with serving(serve(unused_tcp_port)) as connections:
        for _ in range(FEW + 20):
            connections.append(await connected(unused_tcp_port, "127.0.0.2"))
        await until(lambda: sum(map(is_closed, connections)) >= 20)
        assert threading.active_count() <= before
        path = {"health": "/healthz", "metrics": "/metrics"}[what]
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{unused_tcp_port}{path}") as found,
        ):
            assert found.status == 200
            assert ("stackwright_queue_depth" in await found.text()) == (what == "metrics")


async def test_that_no_descriptor_is_left_ends_nothing(
    unused_tcp_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, tried = asyncio.get_running_loop(), 0
    accept = loop.sock_accept

    async def none_left(sock: socket.socket) -> Any:
        nonlocal tried
        tried += 1
        if tried < 3:
            raise OSError(24, "Too many open files")
        return await accept(sock)

    monkeypatch.setattr(loop, "sock_accept", none_left)
    async with listening(unused_tcp_port, tmp_path) as there:
        await until(lambda: tried > 2)
        assert b" 200 " in await asked(await there.connect())
