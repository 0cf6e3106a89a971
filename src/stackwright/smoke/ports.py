"""Interfaces of the checks besides the cloud's API: the network of this machine, time, and progress messages."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stackwright.smoke.tenant import CloudError

Report = Callable[[str], None]
PAUSE = 1.0


class Failed(Exception):
    """Failure of a check; the text contains the observation and its probable cause."""


class Host(Protocol):
    """The user's machine."""

    def ping(self, address: str) -> bool:
        """Whether the address returns an echo reply within a second."""

    def open(self, address: str, port: int) -> bool:
        """Whether a TCP connection is accepted within a second."""

    def ssh(self, login: Login, command: str) -> str:
        """Output of a command. Raises Failed with the error of ssh."""

    def page(self, url: str) -> int:
        """HTTP status of a page, over verified TLS. Raises Failed without a response."""

    def websocket(self, url: str) -> bytes:
        """First bytes from a WebSocket, over verified TLS. Raises Failed if the handshake fails."""


@dataclass(frozen=True)
class Login:
    address: str
    user: str
    key: Path


class Clock(Protocol):
    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class RealClock:
    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass(frozen=True)
class Waiting:
    """Polls until the check returns None. Raises Failed with the last cause after the limit."""

    clock: Clock
    report: Report

    def until(self, what: str, missing: Callable[[], str | None], limit: float, pause: float = PAUSE) -> None:
        start = self.clock.now()
        while (cause := _cause(missing)) is not None:
            waited = self.clock.now() - start
            self.report(cause)
            if waited > limit:
                raise Failed(f"{what}: not within {limit:.0f} s: {cause}")
            self.clock.sleep(pause)


def _cause(missing: Callable[[], str | None]) -> str | None:
    """What is missing, or the error of an API that may succeed soon: both are reasons to wait."""
    try:
        return missing()
    except CloudError as error:
        if not error.passing:
            raise
        return str(error)
