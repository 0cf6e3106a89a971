"""A lock that prevents concurrent runs of `up` and `down` on a machine. The kernel releases it with the process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster


@contextmanager
def exclusive(cluster: LocalCluster) -> Iterator[None]:
    cluster.lock.parent.mkdir(parents=True, exist_ok=True)
    # Python sets O_CLOEXEC by default, so the supervisor does not inherit the lock and keep it.
    with cluster.lock.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise LocalError(
                f"Another `stackwright up` or `down` is running (process {holder}). "
                "Wait until it ends, or stop it and repeat the command: it resumes."
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
