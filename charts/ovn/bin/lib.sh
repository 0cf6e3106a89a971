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
