#!/bin/bash
# listens.sh PORT: whether the port is in state LISTEN (0A). A connection would start a process of the proxy for each probe.
exec grep -qE "^ *[0-9]+: [0-9A-F]+:$(printf %04X "$1") [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6
