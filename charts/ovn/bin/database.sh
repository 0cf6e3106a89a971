#!/bin/bash
# Runs ovsdb-server with one of OVN's databases, as one of CLUSTER_SIZE members: database.sh nb|sb.
#
#   has data                              start with it
#   a peer is a member of a cluster       join it
#   all peers respond, none is a member   the first member creates the cluster
#   otherwise                             check again
#
# A server without the database runs while a member checks, so that its peers get a response. A first start cannot be
# distinguished from a lost volume: a member without data creates no cluster while a peer with data may exist. One that is
# killed while it joins may have a file that ovsdb-server refuses: the file of its first attempt is kept until it has joined.
set -u
. /opt/stackwright/lib.sh
use_database "$1"
ORDINAL=${POD_NAME##*-}
MOST=3 # members, at any size
CONF=/tmp/$1.json

host() { echo "${POD_NAME%-*}-$1.$CLUSTER_DOMAIN"; }
raft() { echo "ssl:$(host "$1"):$RAFT_PORT"; }
others() { seq 0 $((CLUSTER_SIZE - 1)) | grep -vx "$ORDINAL"; }

# Prints the other members, and those that exist already while the number of members grows and this pod has the former one.
peers() {
    others
    for i in $(seq "$CLUSTER_SIZE" $((MOST - 1))); do
        [[ $i == "$ORDINAL" ]] || ! getent hosts "$(host "$i")" >/dev/null || echo "$i"
    done
}

# configure [DATABASE]: writes the server's configuration, which it opens for writing, too.
configure() {
    local databases= every='[::]'
    [[ -e /proc/net/if_inet6 ]] || every=0.0.0.0
    (($# == 0)) || databases="\"$1\": {}"
    printf '{"remotes": {"pssl:%s:%s": {"inactivity-probe": %s}, "punix:%s": {}}, "databases": {%s}}' \
        "$CLIENT_PORT" "$every" "$INACTIVITY_PROBE" "$SOCKET" "$databases" >"$CONF"
}

serve() { exec ovsdb-server --config-file="$CONF" "${CERTIFICATE[@]}" --unixctl="$CONTROL" "${QUIET[@]}"; }

# Prints the state of each peer: `member`, `empty` without data or before it has joined, `silent` without a response.
ask_peers() {
    local i rows
    local query='["_Server", {"op": "select", "table": "Database", "where": [["name", "==", "'$NAME'"]], "columns": ["cid"]}]'
    for i in $(peers); do
        if ! rows=$(ovsdb-client --timeout=5 "${CERTIFICATE[@]}" query "ssl:$(host "$i"):$CLIENT_PORT" "$query" 2>/dev/null); then
            echo silent
        elif [[ $rows == *'"uuid"'* ]]; then
            echo member
        else
            echo empty
        fi
    done
}

# Creates the file of the database if this is possible now.
prepare() {
    local states
    states=$(ask_peers)
    rm -f "$DB.new"
    if grep -qx member <<<"$states"; then
        say "joining the members of $NAME"
        # shellcheck disable=SC2046 # words are wanted
        ovsdb-tool join-cluster "$DB.new" "$NAME" "$(raft "$ORDINAL")" $(for i in $(peers); do raft "$i"; done) &&
            cp "$DB.new" "$DB.join.new" && sync "$DB.join.new" && mv "$DB.join.new" "$DB.join"
    elif ((ORDINAL == 0)) && ! grep -qx silent <<<"$states"; then
        say "creating $NAME"
        ovsdb-tool --election-timer="$ELECTION_TIMER" create-cluster "$DB.new" "$SCHEMA" "$(raft "$ORDINAL")"
    else
        return 1
    fi || fail "cannot make the database $DB"
    sync "$DB.new" && mv "$DB.new" "$DB" && sync "${DB%/*}"
}

# Replaces the file of a member that was killed after it had received data, and before the leader had added it. It joins with
# the same id, for which the leader may wait. A member that was added has votes and data that others count on, and keeps them.
rejoin() {
    local id log
    [[ -e $DB.join ]] || return 0
    id=$(ovsdb-tool db-sid "$DB") && log=$(ovsdb-tool show-log "$DB" | grep -E '^ (prev_)?servers:') || return 0
    [[ $log != *"${id:0:4}("* ]] || return 0
    say "joining the members of $NAME again"
    cp "$DB.join" "$DB.new" && sync "$DB.new" && mv "$DB.new" "$DB" && sync "${DB%/*}"
}

wait_for_data() {
    configure
    (serve) &
    local waiting=$!
    trap 'kill $waiting; exit 0' TERM INT
    until prepare; do
        kill -0 $waiting 2>/dev/null || fail "ovsdb-server does not start"
        sleep 1 & wait $!
    done
    kill $waiting
    wait $waiting
    trap - TERM INT
}

# The leader's tasks: the schema of this image, and the removal of members that lost their volume and joined again.
maintain() {
    local now id
    while sleep 5; do
        now=$(status) && grep -qx 'Status: cluster member' <<<"$now" || continue
        rm -f "$DB.join"
        grep -qx 'Role: leader' <<<"$now" || continue
        if is_older; then
            say "converting $NAME to the schema of this version"
            ovsdb-client --timeout=60 convert "unix:$SOCKET" "$SCHEMA"
        fi
        for id in $(lost <<<"$now"); do
            say "removing member $id, whose data is lost"
            timeout 10 ovs-appctl -t "$CONTROL" cluster/kick "$NAME" "$id"
        done
    done
}

# Whether the database has an older schema than this image. During an upgrade it may have a newer one already.
is_older() {
    local has
    has=$(ovsdb-client --timeout=30 get-schema-version "unix:$SOCKET" "$NAME" 2>/dev/null) &&
        ovsdb-tool compare-versions "$has" '<' "$(ovsdb-tool schema-version "$SCHEMA")"
}

# lost <STATUS: of several members with one address, prints all but the one heard from last; none if none was heard.
lost() {
    awk '/ at ssl:.*\)/ {
        address = $4; sub(/\)$/, "", address)
        age = 1e18
        if (/\(self\)/) age = -1
        else if (match($0, /last msg [0-9]+ ms ago/)) age = substr($0, RSTART + 9) + 0
        if (!(address in best)) { best[address] = $1; least[address] = age }
        else if (age < least[address]) { print best[address]; best[address] = $1; least[address] = age }
        else if (least[address] < 1e18) print $1
    }'
}

if [[ -e $DB ]]; then rejoin; else wait_for_data; fi
configure "$DB"
maintain &
serve
