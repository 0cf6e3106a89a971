"""What the checks need beside the cloud's API: this machine's own network, time, and a place to say what goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stackwright.core.openstack.tenant import CloudError

Report = Callable[[str], None]
PAUSE = 1.0


class Failed(Exception):
    """A check's verdict; the text says what was seen, and what probably caused it."""


class Host(Protocol):
    """The machine that a user sits at."""

    def ping(self, address: str) -> bool:
        """Whether an echo comes back within a second."""

    def open(self, address: str, port: int) -> bool:
        """Whether a TCP connection is accepted within a second."""

    def ssh(self, login: Login, command: str) -> str:
        """Output of a command. Raises Failed with what ssh says."""

    def page(self, url: str) -> int:
        """HTTP status of a page, over verified TLS. Raises Failed when nobody answers."""

    def websocket(self, url: str) -> bytes:
        """The first bytes that a WebSocket sends, over verified TLS. Raises Failed without a handshake."""


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
    """Asks again and again until there is nothing missing. Raises Failed with the last cause after the limit."""

    clock: Clock
    report: Report

    def until(self, what: str, missing: Callable[[], str | None], limit: float, pause: float = PAUSE) -> None:
        start = self.clock.now()
        while (cause := _asked(missing)) is not None:
            waited = self.clock.now() - start
            self.report(cause)
            if waited > limit:
                raise Failed(f"{what}: not within {limit:.0f} s: {cause}")
            self.clock.sleep(pause)


def _asked(missing: Callable[[], str | None]) -> str | None:
    """An API that is away for a moment is a cause to wait, not to give up."""
    try:
        return missing()
    except CloudError as error:
        if not error.passing:
            raise
        return str(error)
