"""Reads the output of a child process up to a limit, because charts and objects of the cluster determine the size of
the output of Helm.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process

from stackwright.core.errors import TerminalError

MOST = 32 << 20  # bytes of each stream; the manifests of our largest chart have 1 MiB
CHUNK = 64 << 10


async def output(process: Process) -> tuple[bytes, bytes]:
    """Standard output and standard error. Raises TerminalError if one of them is too long, after it killed the process.

    A stream is read to its end in every case: asyncio waits for the end of a process only after that.
    """
    assert process.stdout and process.stderr
    found = await asyncio.gather(_all(process, process.stdout), _all(process, process.stderr))
    await process.wait()
    if max(map(len, found)) > MOST:
        raise TerminalError(f"helm wrote more than {MOST >> 20} MiB and was terminated")
    return found[0], found[1]


async def _all(process: Process, stream: asyncio.StreamReader) -> bytes:
    found = bytearray()
    while piece := await stream.read(CHUNK):
        if len(found) <= MOST:
            found += piece
        elif process.returncode is None:
            process.kill()
    return bytes(found)
