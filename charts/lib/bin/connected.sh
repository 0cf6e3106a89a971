#!/bin/bash
# connected.sh PORT: whether a process of this container has a connection to the port, as the kernel tells it. Nothing is
# started or sent for it, and a pod in its node's network sees no connection of others as its own.
port=$(printf ':%04X' "$1")
sockets=$(awk -v port="$port" '$4 == "01" && $3 ~ port "$" { print "socket:[" $10 "]" }' /proc/net/tcp /proc/net/tcp6)
[[ -n $sockets ]] && ls -l /proc/[0-9]*/fd 2>/dev/null | grep -qF "$sockets"
