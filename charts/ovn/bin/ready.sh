#!/bin/bash
# ready.sh nb|sb: whether this member belongs to the database's cluster, and the cluster has a leader. Prints the cause.
. /opt/stackwright/lib.sh
use_database "$1"

no() {
    echo "$1"
    exit 1
}

now=$(status) || no "$NAME does not run, or waits for the other members"
grep -qx 'Status: joining cluster' <<<"$now" && no "joining the other members of $NAME, of which a majority must be connected"
grep -q '^Leader: [^u]' <<<"$now" || # not "unknown"
    no "$NAME has no leader, because no majority of its members is connected"
