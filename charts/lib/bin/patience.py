"""Retries for bootstrap scripts, which use the OpenStack SDK after a service has started.

The scripts use the SDK in one process, because each `openstack` command takes seconds to load. `retry` logs its cause
of waiting whenever it changes; `fail` writes the termination message, which the cloud's status shows.
"""

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

POLL = 2.0
PATIENCE = 600.0


class Refused(Exception):
    """A permanent error: a retry does not help."""


def say(text: str) -> None:
    print(text, flush=True)


def fail(cause: str) -> NoReturn:
    Path("/dev/termination-log").write_text(cause)
    sys.exit(cause)


def retry(what: str, step: Callable[[], Any], refusal: tuple[type[Exception], ...] = ()) -> Any:
    """The result of `step`, which is retried after each exception. Raises Refused after an exception in `refusal`."""
    until, said = time.monotonic() + PATIENCE, ""
    while True:
        try:
            return step()
        except refusal as error:
            raise Refused(f"{what}: {getattr(error, 'details', '') or error}") from None
        except Exception as error:  # a starting service may raise any error
            cause = re.sub(r" at 0x\w+", "", f"Waiting for {what}: {error}")
            if time.monotonic() > until:
                fail(cause)
            if cause != said:
                say(cause)
                said = cause
            time.sleep(POLL)
