"""What answers in place of MariaDB may be any program, at the other end of a real connection."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pymysql
import pytest

from stackwright.adapters import threads
from stackwright.adapters.mariadb import accounts
from stackwright.adapters.mariadb.accounts import MariaDbDatabase
from stackwright.adapters.mariadb.connection import CONNECT, connect
from stackwright.adapters.threads import after, with_deadline
from stackwright.core.errors import TransientError
from support.tls_clients import contexts
from support.waiting import PATIENCE
from tests.unit.adapters.mariadb.test_accounts import account

ADMIN = {"password": "root-pw"}
CAPABILITIES, TLS = 0x00A8F7DF, 1 << 11  # of MariaDB
ENDLESS = 16 << 20  # bytes; the client leaves long before
OK = b"\x00\x00\x00\x02\x00\x00\x00"
MORE = b"\x00\x00\x00\x0a\x00\x00\x00"  # OK, and another result follows


def packet(number: int, payload: bytes) -> bytes:
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


def greeting(capabilities: int = CAPABILITIES, method: bytes = b"mysql_native_password") -> bytes:
    low, high = capabilities & 0xFFFF, capabilities >> 16
    head = b"\x0a11.4.0-MariaDB\0" + struct.pack("<I8sxHBHHB10x", 7, b"12345678", low, 33, 2, high, 21)
    return packet(0, head + b"123456789012\0" + method + b"\0")


class Client:
    """A client, as the server sees it. Its methods raise EOFError if it has left."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def send(self, data: bytes) -> None:
        try:
            self.sock.sendall(data)
        except OSError:
            raise EOFError from None

    def packet(self) -> bytes:
        length = int.from_bytes(self._read(4)[:3], "little")
        return self._read(length)

    def _read(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            with suppress(OSError):
                if piece := self.sock.recv(count - len(found)):
                    found += piece
                    continue
            raise EOFError
        return found

    def log_in(self, context: ssl.SSLContext | None = None) -> None:
        self.send(greeting(CAPABILITIES | TLS if context else CAPABILITIES))
        self.packet()
        number = 2
        if context:
            self.sock, number = context.wrap_socket(self.sock, server_side=True), 3
            self.packet()
        self.send(packet(number, OK))

    def flood(self, begin: bytes, payload: bytes = b"", number: int = 0) -> None:
        """Packets without end, with increasing numbers."""
        self.send(begin)
        packets = b"".join(packet((number + each) % 256, payload) for each in range(256 * 16))
        for _ in range(ENDLESS // len(packets)):
            self.send(packets)


COLUMN = b"\x03def\0\0\0\x01a\x01a\x0c\x21\0\x09\0\0\0\xfd\0\0\0\0\0"
ROWS = packet(1, b"\x01") + packet(2, COLUMN) + packet(3, b"\xfe\0\0\2\0")


class Server:
    def __init__(self, script: Callable[[Client], None]) -> None:
        self.ended: list[str] = []
        self._script = script
        self._sock = socket.create_server(("127.0.0.1", 0))
        self.port = self._sock.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(Client(self._sock.accept()[0]),), daemon=True).start()

    def _serve(self, client: Client) -> None:
        with suppress(EOFError, OSError):
            self._script(client)
        client.sock.close()

    def close(self) -> None:
        self._sock.close()


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[Client], None]], MariaDbDatabase]]:
    made: list[Server] = []

    def start(script: Callable[[Client], None]) -> MariaDbDatabase:
        made.append(Server(script))
        return MariaDbDatabase(port=made[-1].port)

    yield start
    for server in made:
        server.close()


Serve = Callable[[Callable[[Client], None]], MariaDbDatabase]


def statements_of(client: Client, said: list[str], context: ssl.SSLContext | None = None) -> None:
    """A MariaDB that executes everything."""
    client.log_in(context)
    while (command := client.packet())[:1] == b"\x03":
        said.append(command[1:].decode())
        client.send(packet(1, OK))


@pytest.mark.parametrize("encrypted", [False, True])
async def test_an_account_is_created(serve: Serve, encrypted: bool, tmp_path: Path) -> None:
    said: list[str] = []
    context = contexts(tmp_path)[0] if encrypted else None
    await serve(lambda client: statements_of(client, said, context)).account(account(), ADMIN, {"password": "pw"})
    assert said[0].startswith("SET NAMES")
    assert said[-2].startswith("GRANT ALL PRIVILEGES ON `keystone`.*")


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("part", ["greeting", "rows", "columns", "one packet"])
async def test_endless_responses_are_aborted(serve: Serve, part: str, encrypted: bool, tmp_path: Path) -> None:
    context = contexts(tmp_path)[0] if encrypted else None

    def script(client: Client) -> None:
        if part == "greeting":
            client.flood(b"\xff\xff\xff\x00", b"a")
        client.log_in(context)
        client.packet()
        client.send(packet(1, OK))
        client.packet()
        if part == "rows":
            client.flood(ROWS, b"\x05reply", 4)
        if part == "columns":
            client.flood(packet(1, b"\xfe" + b"\xff" * 8), COLUMN, 2)
        client.flood(b"\xff\xff\xff\x01", b"a")

    with pytest.raises(TransientError, match=r"^MariaDB at 127.0.0.1: its responses exceed 256 KiB$"):
        await serve(script).account(account(), ADMIN, {"password": "pw"})


async def test_nothing_is_sent_after_the_deadline(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server lets the operator wait, and then executes everything. It is the clock, too."""
    clock, left, said = [0.0], threading.Event(), list[str]()

    def script(client: Client) -> None:
        client.log_in()
        try:
            while True:
                said.append(client.packet()[1:].decode())
                clock[0] += accounts.WORK
                client.send(packet(1, OK))
        except EOFError:
            left.set()

    monkeypatch.setattr(threads, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    with pytest.raises(TransientError, match="does not respond in time"):
        await serve(script).account(account(), ADMIN, {"password": "pw"})
    assert await asyncio.to_thread(left.wait, PATIENCE)
    assert len(said) == 1


async def test_a_server_that_always_sends_another_byte_is_late(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "CHECK_SECONDS", 0.3)
    stopped = threading.Event()

    def script(client: Client) -> None:
        client.send(b"\xff\xff\x00\x00")
        while not stopped.wait(0.02):
            client.send(b"\x0a")

    try:
        with pytest.raises(TransientError, match="does not respond in time"):
            await serve(script).missing(account(), ADMIN, {"password": "pw"})
    finally:
        stopped.set()


async def test_nothing_is_sent_after_the_caller_left(serve: Serve) -> None:
    """The account may be deleted meanwhile: a statement could create it again."""
    asked, cancelled, left, said = threading.Event(), threading.Event(), threading.Event(), list[str]()

    def script(client: Client) -> None:
        client.log_in()
        try:
            while True:
                said.append(client.packet()[1:].decode())
                asked.set()
                cancelled.wait(PATIENCE)
                client.send(packet(1, OK))
        except EOFError:
            left.set()

    call = asyncio.create_task(serve(script).account(account(), ADMIN, {"password": "pw"}))
    assert await asyncio.to_thread(asked.wait, PATIENCE)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    cancelled.set()
    assert await asyncio.to_thread(left.wait, PATIENCE)
    assert len(said) == 1


GARBAGE = {
    "http": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "short": packet(0, b"\x0a"),
    "version": packet(0, b"\x0amany.words\0" + bytes(60)),
    "text": b"\x03\x00\x00\x00\xc3\x28\xff",
    "nothing": b"",
    "error": packet(0, b"\xff\x05"),
    "small error": packet(0, b"\xff\x05\x00#HY000why"),
    "odd state": packet(0, b"\xff\x15\x04#\xff\xff\xff\xff\xffwhy"),
}


@pytest.mark.parametrize("name", GARBAGE)
@pytest.mark.parametrize("logged_in", [False, True])
async def test_garbage_is_a_transient_error(serve: Serve, name: str, logged_in: bool) -> None:
    def script(client: Client) -> None:
        if logged_in:
            client.log_in()
            client.packet()
            client.send(GARBAGE[name][:3] + b"\x01" + GARBAGE[name][4:])
        else:
            client.send(GARBAGE[name])

    with pytest.raises(TransientError, match=r"not of MariaDB's protocol|the connection was (lost|refused)"):
        await serve(script).account(account(), ADMIN, {"password": "pw"})


async def test_garbage_instead_of_tls_is_a_transient_error(serve: Serve) -> None:
    def script(client: Client) -> None:
        client.send(greeting(CAPABILITIES | TLS))
        client.packet()
        client.send(b"no TLS" * 10)

    with pytest.raises(TransientError, match=r"^MariaDB at 127.0.0.1: TLS fails \(WRONG_VERSION_NUMBER\)"):
        await serve(script).account(account(), ADMIN, {"password": "pw"})


async def test_an_end_within_the_handshake_of_tls_is_a_transient_error(serve: Serve) -> None:
    def script(client: Client) -> None:
        client.send(greeting(CAPABILITIES | TLS))
        client.packet()
        client.sock.recv(1 << 16)  # unread bytes would make the end a reset

    with pytest.raises(TransientError, match=r"^MariaDB at 127.0.0.1: TLS fails \("):
        await serve(script).account(account(), ADMIN, {"password": "pw"})


async def test_garbage_as_a_further_result_is_a_transient_error(serve: Serve) -> None:
    def script(client: Client) -> None:
        client.log_in()
        client.packet()
        client.send(packet(1, OK))
        client.packet()
        client.send(packet(1, MORE) + packet(2, GARBAGE["error"][4:]))
        client.packet()

    with pytest.raises(TransientError, match=r"not of MariaDB's protocol"):
        await serve(script).account(account(), ADMIN, {"password": "pw"})


async def test_each_address_of_a_host_is_tried(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    real, said = socket.getaddrinfo, list[str]()

    def resolved(host: Any, port: Any, *args: Any, **more: Any) -> Any:
        hosts = ("127.0.0.2", "127.0.0.1") if host == "db.example" else (host,)  # nothing listens at the first one
        return [found for each in hosts for found in real(each, port, *args, **more)]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    await serve(lambda client: statements_of(client, said)).account(
        account(host="db.example"), ADMIN, {"password": "pw"}
    )
    assert said


def test_the_wait_for_a_connection_ends_with_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def hang(address: Any, seconds: float) -> Any:
        waits.append(seconds)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", hang)
    for seconds in (CONNECT / 2, CONNECT * 2):
        with pytest.raises(pymysql.OperationalError):
            with_deadline(after(seconds), lambda: connect(host="127.0.0.1", port=1, user="root", password=""))
    assert 0 < waits[0] <= CONNECT / 2 and waits[1] == CONNECT


async def test_a_password_may_have_any_characters(serve: Serve) -> None:
    said: list[str] = []
    await serve(lambda client: statements_of(client, said)).account(account(), {"password": "p€w"}, {"password": "pw"})
    assert said


METHODS = (
    "mysql_clear_password",
    "dialog",
    "sha256_password",
    "caching_sha2_password",
    "mysql_old_password",
    "none\x00",
)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("later", [False, True])
async def test_no_server_gets_the_password(serve: Serve, method: str, later: bool) -> None:
    """Neither by its greeting nor by a change of the method; a proof of the password is fine."""
    received: list[bytes] = []

    def script(client: Client) -> None:
        name = method.encode()
        client.send(greeting() if later else greeting(method=name))
        received.append(client.packet())
        client.send(packet(2, b"\xfe" + name + b"\0" + b"12345678901234567890\0"))
        while True:
            received.append(client.packet())

    with pytest.raises(TransientError, match=r"requests the password by the method|is not of MariaDB's protocol"):
        await serve(script).account(account(), ADMIN, {"password": "pw"})
    assert len(received) <= 1
    assert ADMIN["password"].encode() not in b"".join(received)


@pytest.mark.parametrize("method", METHODS)
async def test_no_server_with_tls_gets_the_password(serve: Serve, method: str, tmp_path: Path) -> None:
    """Over TLS, the driver would send it as plain text by `sha256_password`, without a further request."""
    received, context = list[bytes](), contexts(tmp_path)[0]

    def script(client: Client) -> None:
        client.send(greeting(CAPABILITIES | TLS, method.encode()))
        client.packet()
        client.sock = context.wrap_socket(client.sock, server_side=True)
        received.append(client.packet())

    with pytest.raises(TransientError, match=r"requests the password by the method"):
        await serve(script).account(account(), ADMIN, {"password": "pw"})
    assert received == []
