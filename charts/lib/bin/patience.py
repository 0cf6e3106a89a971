"""Steps that services take once they have started, for scripts of charts that use OpenStack's SDK.

One process with the SDK that waits, for each `openstack` command would take seconds to load. What it waits for is told
when it changes, and the last words are the cause that the cloud's status shows.
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
    """No patience helps."""


def say(text: str) -> None:
    print(text, flush=True)


def fail(cause: str) -> NoReturn:
    Path("/dev/termination-log").write_text(cause)
    sys.exit(cause)


def retry(what: str, step: Callable[[], Any], refusal: tuple[type[Exception], ...] = ()) -> Any:
    """The first answer of `step`; exceptions mean "not yet", save for those of `refusal`: they raise Refused."""
    until, said = time.monotonic() + PATIENCE, ""
    while True:
        try:
            return step()
        except refusal as error:
            raise Refused(f"{what}: {getattr(error, 'details', '') or error}") from None
        except Exception as error:  # whatever a service that starts answers
            cause = re.sub(r" at 0x\w+", "", f"Waiting for {what}: {error}")
            if time.monotonic() > until:
                fail(cause)
            if cause != said:
                say(cause)
                said = cause
            time.sleep(POLL)
