"""Lets PyMySQL notice a dead MariaDB within half a minute: sets TCP options of its connections, in its source file.

A server whose node lost its power or its network closes no connection. A request to it would wait for fifteen minutes,
the limit of retransmissions, and an idle connection would stay in the pool for two hours. A time-out of reads, which
PyMySQL has, is no remedy: it would end slow statements, such as those of migrations. A slow server acknowledges.
"""

import sys
from pathlib import Path

AFTER = "sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)\n"
# The time-out of unacknowledged data also ends an idle connection, so it is not shorter than all probes together.
OPTIONS = {"TCP_USER_TIMEOUT": 30_000, "TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}  # ms, s, s, probes


def patch(text: str) -> str:
    """The source with the options. Raises SystemExit if another version sets no keepalive where this one does."""
    begin, found, end = text.partition(AFTER)
    if not found or AFTER in end:
        sys.exit("PyMySQL sets SO_KEEPALIVE at another place; adapt this script")
    indent = begin[begin.rindex("\n") + 1 :]
    lines = [f"sock.setsockopt(socket.IPPROTO_TCP, socket.{name}, {value})\n" for name, value in OPTIONS.items()]
    return begin + found + "".join(indent + line for line in lines) + end


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(patch(path.read_text()))
