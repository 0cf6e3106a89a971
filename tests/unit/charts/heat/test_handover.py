"""Messages that arrive at an RPC server of Heat while it stops."""

from __future__ import annotations

import runpy
import sys
import threading
from types import ModuleType
from typing import Any

import pytest

from support.paths import ROOT


class Message:
    def __init__(self) -> None:
        self.end = ""

    def acknowledge(self) -> None:
        self.end = "acknowledged"

    def requeue(self) -> None:
        self.end = "returned"


class Consumer:
    """Gets a last message while it is cancelled, as RabbitMQ had sent it before."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.cancelled: list[int] = []

    def cancel(self, tag: int) -> None:
        if self._connection.broken:
            raise ConnectionError
        self._connection.receive()
        self.cancelled.append(tag)


class Connection:
    def __init__(self) -> None:
        self.broken = False
        self.messages: list[Message] = []
        self.listener: Any = None
        self.consumers = [Consumer(self), Consumer(self)]
        self._consumers = dict(zip(self.consumers, (1, 2), strict=True))

    def receive(self) -> str:
        self.messages.append(Message())
        self.listener(self.messages[-1])
        return self.messages[-1].end


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Connection:
    class RpcAMQPListener:
        """As that of oslo.messaging, as far as it matters here."""

        def __init__(self, conn: Connection) -> None:
            self.conn, self._shutoff = conn, threading.Event()

        def __call__(self, message: Message) -> None:
            message.acknowledge()

        def stop(self) -> None:
            self._shutoff.set()

    driver = ModuleType("amqpdriver")
    driver.RpcAMQPListener = RpcAMQPListener  # type: ignore[attr-defined]
    drivers = ModuleType("oslo_messaging._drivers")
    drivers.amqpdriver = driver  # type: ignore[attr-defined]
    for name, module in (("oslo_messaging", ModuleType("oslo_messaging")), ("oslo_messaging._drivers", drivers)):
        monkeypatch.setitem(sys.modules, name, module)
    runpy.run_path(str(ROOT / "charts/heat/bin/handover.py"))["install"]()
    made = Connection()
    made.listener = RpcAMQPListener(made)
    return made


def test_a_server_that_stops_returns_its_messages(connection: Connection) -> None:
    assert connection.receive() == "acknowledged"
    connection.listener.stop()
    assert [each.cancelled for each in connection.consumers] == [[1], [2]]
    assert [each.end for each in connection.messages] == ["acknowledged", "returned", "returned"]
    assert connection.receive() == "returned"


def test_a_broken_connection_does_not_keep_a_server_from_stopping(connection: Connection) -> None:
    connection.broken = True
    connection.listener.stop()
    assert connection.receive() == "returned"
