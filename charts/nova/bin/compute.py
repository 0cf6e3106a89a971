"""nova-compute, which leaves the cause where Kubernetes shows it when it cannot start.

It ends with exit code 0 then, and the cause is only in its log.
"""

import logging
import sys
from pathlib import Path
from typing import Any

from nova.cmd import compute  # at first: it patches the standard library for greenlets
from oslo_log import log

REFUSED = "existing instances"  # nova.compute.manager: _sanity_check_new_host
CAUSE = (
    "This node has virtual machines of a former cloud. End each of them in this node's pod libvirt:"
    " virsh list --all; virsh destroy NAME; virsh undefine NAME"
)


class Cause(logging.Handler):
    """oslo.service logs why a service does not start, and tells nobody else.

    Only Nova's own refusals are told: the texts of others may quote values of the configuration.
    """

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info and record.exc_info[1]
        if type(error).__name__ == "InvalidConfiguration":
            cause = CAUSE if REFUSED in str(error) else str(error)
            Path("/dev/termination-log").write_text(cause[:1000], encoding="utf-8")


def setup(*args: Any, **named: Any) -> None:
    """Handlers that are there before are taken away."""
    set_up(*args, **named)
    logging.getLogger("oslo_service").addHandler(Cause(logging.ERROR))


if __name__ == "__main__":
    set_up, log.setup = log.setup, setup
    sys.argv[0] = "nova-compute"
    compute.main()
