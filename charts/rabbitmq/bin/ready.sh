#!/bin/bash
# Readiness: the AMQP port is in state LISTEN (0A), by /proc.
exec grep -qE "^ *[0-9]+: [0-9A-F]+:$(printf %04X "$AMQP_PORT") [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6
