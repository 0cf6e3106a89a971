"""Lets libraries notice dead servers: sets TCP options of their connections, in their source files.

A server whose node lost its power or its network closes no connection. A request to it would wait for fifteen minutes,
the limit of retransmissions, a new connection for two, and an idle one would stay in its pool for up to two hours.
Time-outs of reads, which the libraries have, are no remedy: they would end slow requests, such as statements of
migrations. A slow server acknowledges.
"""

import sys
from pathlib import Path

# The time-out of unacknowledged data also ends an idle connection, so it is not shorter than all probes together.
PROBES = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}  # s, s, number
# PyMySQL, and Neutron's clients of OVN.
CALL = "sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)\n"
CALLED = {"TCP_USER_TIMEOUT": 30_000, **PROBES}  # ms
# Keystoneauth. A receiver that reads nothing, such as an image store that waits for its storage, counts as dead, too.
LIST = "kwargs['socket_options'] = socket_options\n"
LISTED = {"TCP_SYNCNT": 2, "TCP_USER_TIMEOUT": 60_000, **PROBES}  # SYN retries: 7 s


def patch(text: str) -> str:
    """The source with the options. Raises SystemExit for another version, which sets its options at other places."""
    if text.count(CALL) + text.count(LIST) != 1:
        sys.exit("this version of the library sets SO_KEEPALIVE at another place; adapt this script")
    if CALL in text:
        begin, _, end = text.partition(CALL)
        indent = begin[begin.rindex("\n") + 1 :]
        lines = [f"{indent}sock.setsockopt(socket.IPPROTO_TCP, socket.{name}, {value})\n" for name, value in CALLED.items()]
        return begin + CALL + "".join(lines) + end
    begin, _, end = text.partition(LIST)
    options = ", ".join(f"(socket.IPPROTO_TCP, socket.{name}, {value})" for name, value in LISTED.items())
    return f"{begin}socket_options += [{options}]\n{begin[begin.rindex(chr(10)) + 1 :]}{LIST}{end}"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(patch(path.read_text()))
