"""Runs nova-compute; if it cannot start, writes the cause to the termination message.

Without this, nova-compute ends with exit code 0, and the cause is only in its log.
"""

import logging
import sys
from pathlib import Path
from typing import Any

from nova.cmd import compute  # first: it patches the standard library for greenlets
from oslo_log import log

REFUSED = "existing instances"  # nova.compute.manager: _sanity_check_new_host
CAUSE = (
    "This node has virtual machines of a former cloud. End each of them in this node's pod libvirt:"
    " virsh list --all; virsh destroy NAME; virsh undefine NAME"
)


class Cause(logging.Handler):
    """Writes the termination message from the error that oslo.service logs when a service does not start.

    Only InvalidConfiguration of Nova is written, because other messages may contain values of the configuration.
    """

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info and record.exc_info[1]
        if type(error).__name__ == "InvalidConfiguration":
            cause = CAUSE if REFUSED in str(error) else str(error)
            Path("/dev/termination-log").write_text(cause[:1000], encoding="utf-8")


def setup(*args: Any, **named: Any) -> None:
    """Adds the handler after the original setup, which removes existing handlers."""
    set_up(*args, **named)
    logging.getLogger("oslo_service").addHandler(Cause(logging.ERROR))


if __name__ == "__main__":
    set_up, log.setup = log.setup, setup
    sys.argv[0] = "nova-compute"
    compute.main()
