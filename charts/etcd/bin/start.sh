#!/bin/bash
# Runs etcd with the given options as one of CLUSTER_SIZE members, and restarts it when it ends. A loop instead of `exec etcd`:
# after each crash kubelet would wait longer for the restart.
#
#   has data                              start with it
#   a peer is a member of a cluster       join: remove the member of this name, whose data is lost, and add a new one
#   all peers respond, none is a member   create a cluster with them
#   otherwise                             check again
#
# etcd cannot distinguish a first start from a lost volume, and a member that lost its log must not vote.
set -u
. /opt/stackwright/lib.sh

BASE=${POD_NAME%-*}
TLS=/etc/etcd/tls
CERTIFICATE=(--cert="$TLS/tls.crt" --key="$TLS/tls.key" --cacert="$TLS/ca.crt")
OPTIONS=("$@")
etcd_pid=
stopping=

say() { echo "$(date -u +%FT%TZ) [start] $*" >&2; }

stop() {
    stopping=1
    [[ -n $etcd_pid ]] && kill -TERM "$etcd_pid"
}
trap stop TERM INT

host() { echo "$BASE-$1.$CLUSTER_DOMAIN"; }
peer_url() { echo "https://$(host "$1"):$PEER_PORT"; }
client_url() { echo "https://$(host "$1"):$CLIENT_PORT"; }

# Ordinals of all members, and of the others.
all() { seq 0 $((CLUSTER_SIZE - 1)); }
others() { all | grep -vx "${POD_NAME##*-}"; }

listen() {
    while :; do
        socat "TCP-LISTEN:$STATE_PORT,fork,reuseaddr" EXEC:/opt/stackwright/state.sh
        sleep 1
    done
}

# Prints the state of each other member that responds.
ask_peers() {
    local i
    for i in $(others); do
        socat -T5 - "TCP:$(host "$i"):$STATE_PORT,connect-timeout=2" </dev/null 2>/dev/null
    done
}

# Runs etcdctl with the endpoints of the other members.
ctl() {
    local i endpoints=
    for i in $(others); do endpoints+=,$(client_url "$i"); done
    timeout 10 etcdctl "${CERTIFICATE[@]}" --endpoints="${endpoints#,}" "$@"
}

# Removes the member of this name from the cluster. Prints the other members in the format of --initial-cluster.
make_room() {
    local me=$1 members id
    members=$(ctl member list) || return
    id=$(awk -F', ' -v url="$me" '$4 == url {print $1}' <<<"$members")
    [[ -z $id ]] || { say "taking out member $id, whose data is lost"; ctl member remove "$id" >&2 || return; }
    awk -F', ' -v url="$me" '$4 != url {print $3 "=" $4}' <<<"$members" | paste -sd,
}

# Prints the cluster to join, in the format of --initial-cluster. A member that was added but killed before it had a log
# still counts for the majority. If the others have none without it, it starts as that member.
join() {
    local me others
    me=$(peer_url "${POD_NAME##*-}")
    others=$(make_room "$me") || { [[ -s $JOINING ]] && say "joining as before" && cat $JOINING; return; }
    echo "$others,$POD_NAME=$me" >$JOINING.new && sync $JOINING.new || return
    mv $JOINING.new $JOINING && sync $HOME_DIR || return
    ctl member add "$POD_NAME" --peer-urls="$me" | sed -n 's/^ETCD_INITIAL_CLUSTER="\(.*\)"$/\1/p'
}

# Prints how to start: "new <cluster>", "existing" or "existing <cluster>", or nothing if it must wait.
decide() {
    local i states cluster
    has_data && { rm -f $JOINING; echo existing; return; }
    states=$(ask_peers)
    if grep -qx member <<<"$states"; then
        cluster=$(join) && [[ -n $cluster ]] && echo "existing $cluster"
    elif (($(grep -cxE 'empty|forming' <<<"$states") == CLUSTER_SIZE - 1)); then
        touch $FORMING
        cluster=
        for i in $(all); do cluster+=,$BASE-$i=$(peer_url "$i"); done
        echo "new ${cluster#,}"
    fi
}

# Creates $FORMED once this member is healthy.
watch_health() {
    until [[ -e $FORMED ]]; do
        sleep 0.5
        timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$METRICS_PORT; printf 'GET /health HTTP/1.0\r\n\r\n' >&3; cat <&3" 2>/dev/null |
            grep -q '"health":"true"' && touch $FORMED
    done
}

# Stops etcd when the CA in the Secret differs from the one at its start. etcd reads the CA only when it starts, but presents
# renewed certificates immediately, and members with the previous CA do not trust these.
watch_authority() {
    local now
    while sleep 10; do
        now=$(<$TLS/ca.crt)
        [[ -z $now || $now == "$2" ]] && continue
        say "another authority"
        kill -TERM "$1"
        return
    done
}

run() {
    local ordinal=${POD_NAME##*-} rc
    local trusted
    trusted=$(<$TLS/ca.crt)
    say "starting etcd: $*"
    etcd "${OPTIONS[@]}" --name="$POD_NAME" --data-dir="$DATA" --initial-cluster-state="$1" ${2:+--initial-cluster="$2"} \
        --listen-peer-urls="https://0.0.0.0:$PEER_PORT" --initial-advertise-peer-urls="$(peer_url "$ordinal")" \
        --listen-client-urls="https://0.0.0.0:$CLIENT_PORT" --advertise-client-urls="$(client_url "$ordinal")" \
        --listen-metrics-urls="http://0.0.0.0:$METRICS_PORT" \
        --client-cert-auth --cert-file=$TLS/tls.crt --key-file=$TLS/tls.key --trusted-ca-file=$TLS/ca.crt \
        --peer-client-cert-auth --peer-cert-file=$TLS/tls.crt --peer-key-file=$TLS/tls.key --peer-trusted-ca-file=$TLS/ca.crt \
        --peer-cert-allowed-hostname="$(host "$ordinal")" --experimental-peer-skip-client-san-verification &
    etcd_pid=$!
    [[ -z $stopping ]] || kill -TERM $etcd_pid
    watch_health &
    local watchers=($!)
    watch_authority $etcd_pid "$trusted" &
    watchers+=($!)
    # A signal interrupts `wait` before etcd has ended, so repeat it until the process is gone.
    while :; do
        wait $etcd_pid
        rc=$?
        kill -0 $etcd_pid 2>/dev/null || break
    done
    etcd_pid=
    kill "${watchers[@]}" 2>/dev/null
    say "etcd ended with $rc"
}

main() {
    local how cluster
    listen &
    until [[ -n $stopping ]]; do
        how=
        read -r how cluster < <(decide)
        [[ -z $how || -n $stopping ]] || run "$how" ${cluster:+"$cluster"}
        sleep 1 & wait $!
    done
    kill $(jobs -p) 2>/dev/null
    exit 0
}

main
