"""What a server of oslo.messaging receives while it stops, by the script that changes this library in the images."""

from __future__ import annotations

import runpy
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from support.paths import ROOT

SCRIPT = ROOT / "images/base-python/handover.py"
# A part of oslo_messaging/_drivers/amqpdriver.py, 16.1.0.
LISTENER = """\
class AMQPListener:
    def poll(self, timeout=None):
        stopwatch = timeutils.StopWatch(duration=timeout).start()

        while not self._shutdown.is_set():
            self._message_operations_handler.process()
            LOG.debug("Listener is running")

            if self.incoming:
                return self.incoming.pop(0)

            left = stopwatch.leftover(return_none=True)
            if left is None:
                left = self._current_timeout
            if left <= 0:
                return None

            try:
                LOG.debug("AMQPListener connection consume")
                self.conn.consume(timeout=min(self._current_timeout, left))
            except rpc_common.Timeout:
                LOG.debug("AMQPListener connection timeout")
                self._current_timeout = min(self._current_timeout * 2,
                                            ACK_REQUEUE_EVERY_SECONDS_MAX)
            else:
                self._current_timeout = ACK_REQUEUE_EVERY_SECONDS_MIN

        # NOTE(sileht): listener is stopped, just processes remaining messages
        # and operations
        LOG.debug("Listener is stopped")
        self._message_operations_handler.process()
        if self.incoming:
            return self.incoming.pop(0)

        self._shutoff.set()

    def stop(self):
        self._shutdown.set()
        self.conn.stop_consuming()
        self._shutoff.wait()
"""
# Lines of impl_rabbit.py.
CONNECTION = """\
self._active_tags[consumer.queue_name] = tag
self._connection_lock = DummyConnectionLock()
def _transport_socket_timeout(self, timeout):
"""


class Timeout(Exception):
    pass


class StopWatch:
    """One without a limit."""

    def __init__(self, duration: float | None) -> None:
        pass

    def start(self) -> StopWatch:
        return self

    def leftover(self, return_none: bool) -> None:
        pass


class Log:
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def debug(self, *words: object) -> None:
        pass

    def warning(self, text: str, *words: object) -> None:
        self.warnings.append(text % words)


class Operations:
    def process(self) -> None:
        pass


class Connection:
    """As that of oslo.messaging, and its channel. A last message arrives before the end of a consumer is confirmed."""

    def __init__(self) -> None:
        self.channel = self
        self._active_tags = {"compute": 1, "compute.here": 2, "compute_fanout": 3}
        self.ended: list[tuple[str, threading.Thread]] = []
        self.broken = False
        self.silent = False
        self.listener: Any = None
        self.timeout: float | None = None
        self.reading = threading.Event()

    def consume(self, timeout: float) -> None:
        self.reading.set()
        raise Timeout

    def stop_consuming(self) -> None:
        pass

    @contextmanager
    def _transport_socket_timeout(self, timeout: float) -> Iterator[None]:
        self.timeout = timeout
        yield
        self.timeout = None

    def basic_cancel(self, tag: str) -> None:
        assert self.timeout == 10, "of each read"
        if self.silent:
            raise TimeoutError("timed out")
        if self.broken:
            raise ConnectionError("gone")
        self.listener.incoming.append(f"before the end of {tag}")
        self.ended.append((tag, threading.current_thread()))


class Server:
    """Polls in a thread, as the adapter of a listener does."""

    def __init__(self, text: str) -> None:
        self.connection, self.log, self.processed = Connection(), Log(), list[str]()
        names: dict[str, Any] = {
            "timeutils": SimpleNamespace(StopWatch=StopWatch),
            "LOG": self.log,
            "rpc_common": SimpleNamespace(Timeout=Timeout),
            "ACK_REQUEUE_EVERY_SECONDS_MIN": 0.001,
            "ACK_REQUEUE_EVERY_SECONDS_MAX": 5.0,
        }
        exec(text, names)
        self.listener = self.connection.listener = names["AMQPListener"]()
        self.listener.incoming = ["earlier"]
        self.listener.conn, self.listener._message_operations_handler = self.connection, Operations()
        self.listener._shutdown, self.listener._shutoff = threading.Event(), threading.Event()
        self.listener._current_timeout = 0.001
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        assert self.connection.reading.wait(10)

    def _run(self) -> None:
        is_last = False
        while not is_last:
            is_last = self.listener._shutdown.is_set()
            while (message := self.listener.poll()) is not None:
                self.processed.append(message)

    def stop(self) -> None:
        self.listener.stop()
        self.thread.join(10)
        assert not self.thread.is_alive()


@pytest.fixture
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.fixture
def server(script: dict[str, Any]) -> Server:
    return Server(script["patch"](LISTENER, CONNECTION))


def test_a_server_that_stops_ends_its_consumers_and_processes_what_it_received(server: Server) -> None:
    server.stop()
    assert server.processed == ["earlier", "before the end of 1", "before the end of 2", "before the end of 3"]
    assert server.connection.ended == [(tag, server.thread) for tag in ("1", "2", "3")], "once, where it reads"
    assert server.log.warnings == []


def test_a_broken_connection_does_not_keep_a_server_from_stopping(server: Server) -> None:
    server.connection.broken = True
    server.stop()
    assert server.processed == ["earlier"]
    assert server.log.warnings == ["Consumers were not cancelled: gone"]


def test_a_broker_that_does_not_reply_does_not_keep_a_server_from_stopping(server: Server) -> None:
    server.connection.silent = True
    server.stop()
    assert server.log.warnings == ["Consumers were not cancelled: timed out"]


def test_the_image_with_the_library_changes_it() -> None:
    text = (ROOT / "images/base-python/Containerfile").read_text()
    assert "python3 /usr/share/stackwright/handover.py oslo_messaging/_drivers " in text


@pytest.mark.parametrize(
    ("driver", "connection"),
    [
        (LISTENER.replace("Listener is stopped", "Stopped"), CONNECTION),
        (2 * LISTENER, CONNECTION),
        (LISTENER, CONNECTION.replace("_active_tags", "_tags")),
        (LISTENER, CONNECTION.replace("DummyConnectionLock", "ConnectionLock")),
        (LISTENER, CONNECTION.replace("_socket_timeout", "_timeout")),
    ],
)
def test_a_library_that_it_does_not_know_ends_the_build(script: dict[str, Any], driver: str, connection: str) -> None:
    with pytest.raises(SystemExit, match="adapt this script"):
        script["patch"](driver, connection)


def test_a_library_is_not_changed_twice(script: dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match="adapt this script"):
        script["patch"](script["patch"](LISTENER, CONNECTION), CONNECTION)
