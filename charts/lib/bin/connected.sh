#!/bin/bash
# connected.sh PORT: whether a process of this container has an established connection to the port, by /proc. It sends nothing,
# and in a pod with host network it ignores connections of other pods.
port=$(printf ':%04X' "$1")
sockets=$(awk -v port="$port" '$4 == "01" && $3 ~ port "$" { print "socket:[" $10 "]" }' /proc/net/tcp /proc/net/tcp6)
[[ -n $sockets ]] && ls -l /proc/[0-9]*/fd 2>/dev/null | grep -qF "$sockets"
