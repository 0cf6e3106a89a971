# Variables and functions of this chart's scripts; sourced.
TLS=/etc/ovn/tls
# Clients and servers authenticate each other by certificates of the cloud's CA.
CERTIFICATE=(--private-key=$TLS/tls.key --certificate=$TLS/tls.crt --ca-cert=$TLS/ca.crt)
QUIET=(-vconsole:info -vsyslog:off -vfile:off)

say() { printf '%(%T)T %s\n' -1 "$*"; }

# Writes the termination message, which the cloud's status shows as the cause.
fail() {
    say "$*" >&2
    printf '%s' "$*" >/dev/termination-log
    exit 1
}

# use_database nb|sb: sets the variables of one of the two databases.
use_database() {
    DB=/var/lib/ovn/ovn$1_db.db
    SCHEMA=/usr/share/ovn/ovn-$1.ovsschema
    CONTROL=/tmp/$1.ctl
    SOCKET=/tmp/$1.sock
    [[ $1 == nb ]] && NAME=OVN_Northbound || NAME=OVN_Southbound
}

# status: prints the state of this member: id, role, leader, other members.
status() { timeout 5 ovs-appctl -t "$CONTROL" cluster/status "$NAME" 2>/dev/null; }

# resolved REMOTES: prints the remotes with the addresses of their Services instead of names, or a name without an address.
resolved() {
    local remote host address
    local -a found=()
    for remote in ${1//,/ }; do
        host=${remote#ssl:}
        host=${host%:*}
        address=$(getent ahostsv4 "$host") && address=${address%% *} && [[ $address ]] || { echo "$host" && return 1; }
        found+=("ssl:$address:${remote##*:}")
    done
    (IFS=, && echo "${found[*]}")
}

# by_address REMOTES: prints them as `resolved` does, once all names have addresses. OVN's programs start to resolve a name when
# they connect, and fail meanwhile. With several remotes they try each name again only after the result has expired (24 s for
# three, while the TTL may be 5 s), so they would never connect.
by_address() {
    local found since=$SECONDS
    until found=$(resolved "$1"); do
        ((SECONDS - since < ${PATIENCE:-120})) || fail "the name $found cannot be resolved"
        sleep 0.5
    done
    echo "$found"
}

# end_if_moved REMOTES FOUND: ends the program that this process becomes, and so restarts its container, when the remotes have
# other addresses than those found before: a Service that is created again has another one. Runs in the background.
end_if_moved() {
    local now
    while sleep "${EVERY:-30}"; do
        if now=$(resolved "$1") && [[ $now != "$2" ]]; then
            say "a Service was created again: $2 is $now now"
            kill $$
        fi
    done
}
