"""Ends the operator when its own pod is being deleted.

Usually the kubelet signals that. On a node whose kubelet does not run, Kubernetes evicts the pod and starts another one
elsewhere, while the processes of the first go on.
"""

from __future__ import annotations

import asyncio
import contextlib

import structlog

from stackwright.api.kinds import POD
from stackwright.core.objects import is_deleting
from stackwright.core.plan import Key
from stackwright.core.ports import Conflict, Reader, TerminalError, TransientError

EVERY = 5.0  # seconds; another operator needs about as long for its start
log = structlog.get_logger()


async def until_deleted(reader: Reader, key: Key) -> None:
    """Return when the pod is being deleted. Only a pod that is read counts: without the API no action is possible."""
    while True:
        with contextlib.suppress(TransientError, TerminalError, Conflict):
            pod = await reader.get(POD, key)
            if pod is not None and is_deleting(pod):
                log.warning("the operator ends, because its pod is being deleted", pod="/".join(key))
                return
        await asyncio.sleep(EVERY)
