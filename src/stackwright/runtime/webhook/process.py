"""Starts and stops the process that reviews admission requests, and sends the requests to it.

No object can occupy the operator or exhaust its memory, however its checks behave: they run in another process, which
ends when one of them uses too much processor time or memory. The request is refused, and a new process reviews the
others. A process without requests ends, because its memory is half that of the operator.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

import structlog

from stackwright.core.settings import Settings
from stackwright.runtime.webhook.review import MEMORY, OUT_OF_MEMORY, PROCESSOR, SIZE, Review

COMMAND = (sys.executable, "-P", "-m", "stackwright.reviewer")  # without modules of the working directory
SIZE_OF_READ = 1 << 20  # bytes
GRACE = 1.0  # seconds until a process that must end is killed
PATIENCE = 60.0  # seconds until a process without a response is killed
IDLE = 60.0  # seconds until a process without a request ends; to start one takes 0.7 s of processor time
EXPENSIVE = f"to check the object takes more than {PROCESSOR:g} s of processor time or {MEMORY >> 20} MiB of memory"
log = structlog.get_logger()


class Reviewer(Protocol):
    async def start(self) -> None: ...

    async def review(self, body: bytearray) -> Review:
        """The response to a request; one at a time."""

    async def close(self) -> None: ...


class ReviewProcess:
    def __init__(self, settings: Settings, command: Sequence[str] = COMMAND) -> None:
        self._settings, self._command = settings, command
        self._process: Process | None = None
        self._closed = False
        self._idle: asyncio.TimerHandle | None = None  # ends the process
        self._ending: asyncio.Task[int] | None = None

    async def start(self) -> None:
        """Start the process if it does not run. Raises OSError; TimeoutError if it reads nothing."""
        if self._closed or (self._process and self._process.returncode is None):
            return
        await self._stop()
        process = await asyncio.create_subprocess_exec(*self._command, stdin=PIPE, stdout=PIPE)
        try:
            async with asyncio.timeout(PATIENCE):
                await _send(process, pickle.dumps(self._settings))
        except BaseException:
            await _end(process)
            raise
        self._process = process
        self._schedule_end()
        if self._closed:
            await self._stop()

    async def review(self, body: bytearray) -> Review:
        try:
            await self.start()
            self._schedule_end(at_work=True)
            async with asyncio.timeout(PATIENCE):
                return await self._reviewed(body)
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            return await self._replaced(len(body))
        except BaseException:  # the response of a cancelled review must not be taken for that of the next one
            await self._stop()
            raise
        finally:
            self._schedule_end()

    async def close(self) -> None:
        """End the process, for good."""
        self._closed = True
        await self._stop()
        if self._ending:
            await self._ending

    def _schedule_end(self, *, at_work: bool = False) -> None:
        """End the process after IDLE, unless it is at work."""
        if self._idle:
            self._idle.cancel()
        self._idle = (
            None if at_work or not self._process else asyncio.get_running_loop().call_later(IDLE, self._end_idle)
        )

    def _end_idle(self) -> None:
        ended, self._process = self._process, None  # a request from now on starts another process
        if ended:
            self._ending = asyncio.create_task(_end(ended))

    async def _stop(self) -> int | None:
        """End the process, and return its exit code; the next review starts another one."""
        ended, self._process = self._process, None
        return await _end(ended) if ended else None

    async def _reviewed(self, body: bytearray) -> Review:
        if self._process is None or self._process.stdout is None:
            raise ConnectionError("the server ends")
        await _send(self._process, body)
        head = await self._process.stdout.readexactly(SIZE.size)
        return Review(**json.loads(await self._process.stdout.readexactly(SIZE.unpack(head)[0])))

    async def _replaced(self, size: int) -> Review:
        """The response to a request whose process ended, and a new process."""
        code = await self._stop()
        with suppress(TimeoutError, OSError):  # the next review tries it again
            await self.start()
        log.warning("a review ended its process", exit_code=code, bytes=size)
        if code in (-signal.SIGPROF, OUT_OF_MEMORY):
            return Review(413, EXPENSIVE)
        return Review(503, f"the process that checks objects ended with {code}")


async def _send(process: Process, message: bytes | bytearray) -> None:
    assert process.stdin
    process.stdin.write(SIZE.pack(len(message)))
    process.stdin.write(message)
    await process.stdin.drain()


async def _end(process: Process) -> int:
    """End a process, by force if it does not end with its requests; returns its exit code."""
    if process.stdin:
        process.stdin.close()
    ended = asyncio.ensure_future(_read_to_its_end(process))
    # Not killed at once: `kill` would reap a process that has just ended, and its exit code would be lost.
    with suppress(TimeoutError):
        return await asyncio.wait_for(asyncio.shield(ended), GRACE)
    with suppress(ProcessLookupError):
        process.kill()
    return await ended


async def _read_to_its_end(process: Process) -> int:
    """Exit code of a process. asyncio does not notice the end of one whose output is not read."""
    with suppress(RuntimeError):  # a review reads it
        while process.stdout and await process.stdout.read(SIZE_OF_READ):
            pass
    return await process.wait()
