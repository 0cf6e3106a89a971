"""Finds out which process of a pod is the last that may write. The containers of a pod share one Lease.

Each process locks one file of a shared folder while it may write. The kernel releases the lock when the process ends,
even by a crash.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from pathlib import Path

from stackwright.core.errors import TerminalError

AGAIN = 0.1  # seconds between two attempts while the last of the earlier processes releases the Lease


class Siblings:
    """path   the file to lock; None: other processes are unknown
    alone  without a file: whether this process is the only one
    """

    def __init__(self, path: Path | None, *, alone: bool) -> None:
        self._path, self._alone = path, alone
        self._file: int | None = None

    async def join(self) -> None:
        """Return when this process is one of those that may write. Raises TerminalError if the file cannot be used."""
        if self._path is None:
            return
        try:
            self._file = os.open(self._path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            while not self._locked(fcntl.LOCK_SH):
                await asyncio.sleep(AGAIN)
        except OSError as error:
            raise TerminalError(f"--lease-lock {self._path}: {error.strerror}") from error

    def last(self) -> bool:
        """Whether no other process may write until this one has ended. The caller must not write any more."""
        if self._file is None:
            return self._path is None and self._alone
        try:
            fcntl.flock(self._file, fcntl.LOCK_UN)  # of several that end together, the last one gets the lock below
            return self._locked(fcntl.LOCK_EX)
        except OSError:
            return False

    def _locked(self, kind: int) -> bool:
        assert self._file is not None
        try:
            fcntl.flock(self._file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Release the lock, as the end of the process does."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
