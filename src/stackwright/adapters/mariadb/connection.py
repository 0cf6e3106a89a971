"""Connections to MariaDB with limits of size and time, because the server at its address may send any data without end.

The driver reads packets of any size, and its timeouts restart with each byte. So it gets a socket that counts the bytes
that it receives, below TLS, and that neither sends nor receives after the deadline of its thread (`adapters/threads`).
"""

from __future__ import annotations

import io
import math
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pymysql
from pymysql.constants import CR

from stackwright.adapters.threads import seconds_left
from stackwright.core.errors import TransientError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

    Driver = pymysql.Connection[Any]
else:
    Driver = pymysql.Connection

MOST = 256 << 10  # bytes of all responses of one connection; those to our statements have a few thousand
CONNECT = 3.0  # seconds for one address
CHUNK = 16 << 10
METHODS = ("", "mysql_native_password", "client_ed25519")
"""Authentication methods that prove the password without sending it; empty: the default, the first one."""
T = TypeVar("T")


def connect(*, host: str, port: int, user: str, password: str, database: str | None = None) -> Driver:
    """Raises errors of the driver, and TransientError for responses that are too large, late or not MariaDB's."""
    return _Connection(
        host=host,
        port=port,
        user=user,
        password=password.encode(),  # the driver would encode it as Latin-1, unlike statements
        database=database,
        charset="utf8mb4",
        autocommit=True,
    )


def where(host: str) -> str:
    return f"MariaDB at {host}"


class _Stream(io.RawIOBase):
    """What a socket receives. Its end does not close the socket."""

    def __init__(self, sock: _Socket | _Encrypted) -> None:
        self._sock = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        return self._sock.receive(memoryview(buffer))


class _Socket:
    """A connected socket, with the methods that the driver uses."""

    def __init__(self, sock: socket.socket, host: str) -> None:
        self._sock, self.host, self._received = sock, host, 0

    def receive(self, buffer: memoryview) -> int:
        """One byte more than allowed at most, also if the buffer is larger."""
        with self._in_time():
            count = self._sock.recv_into(buffer, min(len(buffer), MOST + 1 - self._received))
        self._received += count
        if self._received > MOST:
            raise TransientError(f"{where(self.host)}: its responses exceed {MOST >> 10} KiB")
        return count

    def sendall(self, data: ReadableBuffer) -> None:
        with self._in_time():
            self._sock.sendall(data)

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        rest = _time_left(self.host)
        self._sock.settimeout(None if rest == math.inf else rest)
        try:
            yield
        except TimeoutError:
            raise _late(self.host) from None

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Stream(self))

    def settimeout(self, seconds: float | None) -> None:
        """The deadline of the thread applies instead."""

    def close(self) -> None:
        self._sock.close()


class _Encrypted:
    """TLS over a socket; OpenSSL itself reads only from memory."""

    def __init__(self, below: _Socket, context: ssl.SSLContext, name: str) -> None:
        self._below, self._in, self._out = below, ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=name)
        self._do(self._tls.do_handshake)

    def receive(self, buffer: memoryview) -> int:
        data = self._do(partial(self._tls.read, len(buffer)))
        buffer[: len(data)] = data
        return len(data)

    def sendall(self, data: ReadableBuffer) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._do(partial(self._tls.write, rest)) :]

    def _do(self, what: Callable[[], T]) -> T:
        """Call a method of OpenSSL until it needs no more input; what it has to send is sent."""
        piece = memoryview(bytearray(CHUNK))
        while True:
            try:
                return what()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as error:
                raise TransientError(f"{where(self._below.host)}: TLS fails ({error.reason or 'closed'})") from None
            finally:
                if waiting := self._out.read():
                    self._below.sendall(waiting)
            if count := self._below.receive(piece):
                self._in.write(piece[:count])
            else:
                self._in.write_eof()

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Stream(self))

    def settimeout(self, seconds: float | None) -> None:
        """As of _Socket."""

    def close(self) -> None:
        self._below.close()


class _Tls:
    """Replaces the driver's SSLContext, which would take the socket itself."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context

    def wrap_socket(self, sock: _Socket, server_hostname: str) -> _Encrypted:
        return _Encrypted(sock, self._context, server_hostname)


class _Connection(Driver):
    ctx: Any = None

    def connect(self, sock: Any = None) -> None:
        """With a socket of its own."""
        if self.ctx:
            self.ctx = _Tls(self.ctx)
        with self._understood():
            made: Any = self._opened()
            super().connect(made)

    def _request_authentication(self) -> None:
        _check_method(self.host, self._auth_plugin_name)  # type: ignore[attr-defined]
        super()._request_authentication()  # type: ignore[misc]

    def _process_auth(self, plugin_name: bytes, auth_packet: Any, handler: Any = None) -> Any:
        _check_method(self.host, plugin_name.decode(errors="replace"))
        return super()._process_auth(plugin_name, auth_packet, handler)  # type: ignore[misc]

    def query(self, sql: Any, unbuffered: bool = False) -> Any:
        with self._understood():
            return super().query(sql, unbuffered)

    def next_result(self, unbuffered: bool = False) -> Any:
        with self._understood():
            return super().next_result(unbuffered)

    def _opened(self) -> _Socket:
        failure: OSError | None = None
        try:
            for *_, address in socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM):
                rest = _time_left(self.host)
                try:
                    sock = socket.create_connection((str(address[0]), self.port), min(CONNECT, rest))
                except OSError as error:
                    failure = error
                    continue
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return _Socket(sock, self.host)
        except OSError as error:
            failure = error
        raise pymysql.OperationalError(CR.CR_CONN_HOST_ERROR, type(failure).__name__)

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Context for calls of the driver: it fails in any way on bytes that are not of MariaDB's protocol."""
        try:
            yield
        except (pymysql.MySQLError, OSError, TransientError):
            raise
        except Exception as error:
            self._force_close()  # type: ignore[attr-defined]
            text = f"{where(self.host)}: its response is not of MariaDB's protocol ({type(error).__name__})"
            raise TransientError(text) from None


def _check_method(host: str, name: str) -> None:
    """Raises TransientError for a method by which a server, or whatever is in its place, could get the password."""
    if name not in METHODS:
        raise TransientError(
            f"{where(host)}: it requests the password by the method {name[:64]!r}, which is not allowed"
        )


def _late(host: str) -> TransientError:
    return TransientError(f"{where(host)}: it does not respond in time")


def _time_left(host: str) -> float:
    """Seconds until the deadline of this thread. Raises TransientError after it."""
    if (rest := seconds_left()) <= 0:
        raise _late(host)
    return rest
