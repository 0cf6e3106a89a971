"""Ends the operator at SIGTERM, and when its own pod is being deleted.

Usually the kubelet sends that signal. On a node whose kubelet does not run, Kubernetes evicts the pod and starts
another one elsewhere, while the processes of the first pod continue. They renew the Lease, so that no other operator
writes until they end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import structlog

from stackwright.api.kinds import POD
from stackwright.core.errors import Conflict, TerminalError, TransientError, place
from stackwright.core.objects import is_deleting
from stackwright.core.plan import Key
from stackwright.core.ports import Reader

EVERY = 5.0  # seconds from the start of a read to that of the next one; the Lease stops writes of another operator
LONGEST = 60.0  # maximum timeout in seconds of a read: the first has EVERY, and each timeout doubles it
GRACE = 3.0  # seconds for the process to end by itself
log = structlog.get_logger()


async def until_deleted(reader: Reader, key: Key) -> None:
    """Return when the pod is being deleted, or was deleted by force: two successive responses lack it after a success.

    Errors do not end the wait, because without the API no action is possible. They are logged once per class until a
    success.
    """
    pod, told, limit, now = "/".join(key), set[str](), EVERY, asyncio.get_running_loop().time
    absences: int | None = None  # in a row; None before the first success
    while True:
        began = now()
        try:
            async with asyncio.timeout(limit):  # the client's own timeout would delay the end by a minute
                read = await reader.get(POD, key)
            if read:
                absences = 0
            elif absences is not None:
                absences += 1
            if is_deleting(read) or absences == 2:
                log.warning("the operator ends, because its pod is being deleted", pod=pod)
                return
            failure, cause = ("", "") if read else ("absent", "there is no such pod")
        except TimeoutError:
            failure, cause = "timeout", f"no response within {limit:g} s"
            limit = min(2 * limit, LONGEST)
        except Exception as error:
            failure, cause = type(error).__name__, _cause(error)
        if not failure:
            told.clear()
            limit = EVERY
        elif failure not in told:
            told.add(failure)
            log.warning("the operator's pod cannot be read, so its deletion does not end it", pod=pod, cause=cause)
        await asyncio.sleep(began + EVERY - now())


async def until_terminated(started: asyncio.Event | None = None) -> None:
    """Return at SIGTERM. Only the handler that was added last is called. Kopf adds one at its start, which would wait 5
    s for our tasks before it ends them. With Kopf's event `started`, this handler is added after that of Kopf.
    """
    if started is not None:
        await started.wait()
    terminated = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminated.set)
    await terminated.wait()


def _cause(error: Exception) -> str:
    known = isinstance(error, TransientError | TerminalError | Conflict)
    return str(error) if known else place(error)


def end_process(after: float = GRACE) -> None:
    """End the process after these seconds, if it has not ended by then.

    Python waits for threads before it ends. Those that call an OpenStack may take minutes, and send further requests.
    """
    timer = threading.Timer(after, os._exit, (0,))
    timer.daemon = True
    timer.start()
