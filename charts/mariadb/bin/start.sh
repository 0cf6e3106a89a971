#!/bin/bash
# Runs mariadbd as a member of a Galera cluster of at least CLUSTER_SIZE servers (lib.sh), and restarts it when it ends.
#
# A loop instead of `exec mariadbd`: after each crash kubelet would wait longer for the restart (CrashLoopBackOff), and so
# would the peers, because they must see this server before one of them may start the cluster.
#
# Each iteration:
#   find the position of the data and publish it to the peers (state.sh on STATE_PORT)
#   a peer is primary    join it
#   all servers wait     the server with the newest data, the lowest ordinal among equals, starts the cluster, unless a
#                        position is unknown (decide.sh); without any data it creates the database
#   otherwise            check again
set -u
. /opt/stackwright/lib.sh
. /opt/stackwright/decide.sh

STARTING=30 # seconds to wait for a starting mariadbd that must stop
ASKED=5     # servers to query while the number of servers is unknown: the maximum of the chart
mariadbd_pid=
stopping=

stop() {
    stopping=1
    # Without a PID, run() may be about to read $!; it checks `stopping` afterwards.
    if [[ -n $mariadbd_pid ]]; then end "$mariadbd_pid" & fi
}
trap stop TERM INT

# end PID: stops mariadbd. MariaDB 11.8 with Galera hangs permanently if it gets SIGTERM while it starts, so the signal is sent
# once it responds. If it does not respond within STARTING seconds, for example during a state transfer, it is killed, which is
# as safe as a crash.
end() {
    local second
    for ((second = 0; second < STARTING; second++)); do
        [[ ! -e $SERVED_FILE && -z $(wsrep_status wsrep_ready) ]] || { kill -TERM "$1"; return; }
        sleep 1
        kill -0 "$1" 2>/dev/null || return
    done
    say "mariadbd has not begun to answer: killed"
    kill -KILL "$1"
}

# ---- the data -------------------------------------------------------------------------------------------------------

quote() { local s=${1//\\/\\\\}; printf "'%s'" "${s//\'/\\\'}"; }

# Created in a separate folder and renamed when complete, so that an incomplete database is never used.
make_database() {
    say "making an empty database"
    rm -rf $HOME_DIR/new
    mariadb-install-db --defaults-file=$CNF --datadir=$HOME_DIR/new --skip-test-db --auth-root-authentication-method=socket \
        --auth-root-socket-user=mysql --wsrep-on=OFF >/tmp/install.log 2>&1 || { cat /tmp/install.log >&2; return 1; }
    local user password
    user=$(quote "$(</run/secrets/mariadb-root/username)")
    password=$(quote "$(</run/secrets/mariadb-root/password)")
    # Passed by a builtin and standard input, so that the password is in no process list, file or log.
    printf '%s\n' "FLUSH PRIVILEGES;" "CREATE USER $user@'%' IDENTIFIED BY $password;" \
        "GRANT ALL PRIVILEGES ON *.* TO $user@'%' WITH GRANT OPTION;" |
        mariadbd --defaults-file=$CNF --bootstrap --datadir=$HOME_DIR/new --wsrep-on=OFF --log-warnings=0 || return 1
    touch $HOME_DIR/new/${FRESH_FILE##*/}
    sync -f $HOME_DIR/new && mv -T $HOME_DIR/new $DATA && sync -f $HOME_DIR
}

# Prints "<uuid> <seqno>" of the data: -2 without data, -1 if the position is unknown, -3 if the first state transfer to this
# volume was cut off. In the last case the server has never had complete data, and has no data that others lack. During a
# transfer grastate.dat may contain a position that the files no longer have; MariaDB's scripts mark this time by the file
# sst_in_progress.
find_position() {
    local uuid= seqno= half=-1
    [[ ! -e $FIRST_FILE ]] || half=-3
    [[ -n $(ls -A $DATA 2>/dev/null) ]] || { echo "$NO_HISTORY -2"; return; }
    [[ ! -e $DATA/sst_in_progress ]] || { echo "$NO_HISTORY $half"; return; }
    uuid=$(sed -n 's/^uuid: *//p' $DATA/grastate.dat 2>/dev/null)
    seqno=$(sed -n 's/^seqno: *//p' $DATA/grastate.dat 2>/dev/null)
    if [[ ${uuid:-$NO_HISTORY} == "$NO_HISTORY" ]]; then
        # A new database that has never served is empty; any other database without a history is a cut-off transfer.
        if [[ -e $FRESH_FILE ]]; then echo "$NO_HISTORY -2"; else echo "$NO_HISTORY $half"; fi
        return
    fi
    # After a crash only the InnoDB log contains the position.
    [[ $seqno != -1 ]] || read -r uuid seqno < <(
        mariadbd --defaults-file=$CNF --wsrep-recover --wsrep-cluster-address=gcomm:// --datadir=$DATA 2>&1 |
        sed -n 's/.*Recovered position: *\([0-9a-f-]*\):\(-\?[0-9]*\).*/\1 \2/p')
    echo "${uuid:-$NO_HISTORY} ${seqno:--1}"
}

# ---- the peers ------------------------------------------------------------------------------------------------------

listen() {
    while :; do
        socat "TCP-LISTEN:$STATE_PORT,fork,reuseaddr" EXEC:/opt/stackwright/state.sh
        sleep 1
    done
}

# Prints "<address> <ordinal> <phase> <uuid> <seqno>" for each other server that responds.
ask_peers() {
    local i address line size
    size=$(cluster_size)
    [[ $size != "?" ]] || size=$ASKED
    for ((i = 0; i < size; i++)); do
        ((i == ORDINAL)) && continue
        address=$(getent hosts "$BASE-$i.$CLUSTER_DOMAIN" | cut -d' ' -f1)
        [[ -n $address ]] || continue
        line=$(socat -T5 - "TCP:$address:$STATE_PORT,connect-timeout=2" </dev/null 2>/dev/null)
        [[ -n $line ]] && echo "$address $line"
    done
}

# Prints how to start: "join <addresses> <donors>", "begin", or nothing if it must wait; then it logs the reason.
decide() {
    local peers primaries donors verdict
    peers=$(ask_peers)
    primaries=$(awk '$3 == "primary" {print $1}' <<<"$peers" | paste -sd,)
    # A donor stalls, so prefer high ordinals: the lowest most likely gets the writes. The last comma allows any other donor.
    donors=$(awk -v base="$BASE" '$3 == "primary" {print base "-" $2}' <<<"$peers" | sort -r | paste -sd,),
    [[ -z $primaries ]] || { echo "join $primaries $donors"; return; }

    verdict=$({ echo "$ORDINAL waiting $(<$POSITION_FILE)"; cut -d' ' -f2- <<<"$peers"; } | elect "$(cluster_size)")
    case $verdict in
        "begin $ORDINAL") echo begin ;;
        wait*) say_once "waiting: ${verdict#wait }$(about_size "$verdict")" ;;
    esac
}

# Prints what a user can do if the file on the volume keeps this server waiting.
about_size() {
    local seen
    seen=$(seen_size)
    if [[ $seen == "?" ]]; then
        echo "; $SIZE_FILE is damaged: write into it how many servers there are"
    elif [[ $1 == *" servers are here"* ]] && ((seen > CLUSTER_SIZE)); then
        echo "; this pod knows of $CLUSTER_SIZE, and $SIZE_FILE of $seen: delete that file only if this volume is a copy," \
            "or the other servers and their volumes are gone for good"
    fi
}

# Stops a server without a majority when all its peers have stopped or have none either, so that an election can start.
watch_split() {
    local strikes=0 peers here
    while sleep 2; do
        [[ $(state_phase) == split ]] || { strikes=0; continue; }
        peers=$(ask_peers)
        here=$(($(grep -cE ' (waiting|split) ' <<<"$peers") + 1))
        if [[ $here == "$(cluster_size)" ]]; then strikes=$((strikes + 1)); else strikes=0; fi
        ((strikes < 3)) || { say "no majority and no primary left: starting over"; kill -TERM "$1"; return; }
    done
}

# Stops a server that receives a state transfer when its senders have ended. Galera does that only with a majority. Without
# one, the receiver would wait forever, and the others for the receiver, whose position they need for the election.
watch_transfer() {
    local strikes=0 senders
    senders=$(grep -oE '[0-9]+(,|$)' <<<"$2" | tr ',\n' '  ')
    while sleep 2 && [[ $(state_phase) == starting ]]; do
        if ask_peers | cut -d' ' -f2- | transfer_lost "$senders"; then strikes=$((strikes + 1)); else strikes=0; fi
        ((strikes < 5)) || { say "those that could send the data have ended: starting over"; kill -KILL "$1"; return; }
    done
}
state_phase() { /opt/stackwright/state.sh | cut -d' ' -f2; }

# ---- mariadbd -------------------------------------------------------------------------------------------------------

run() {
    local how=$1 addresses=${2:-} donors=${3:-} position
    position=$(tr ' ' : <$POSITION_FILE)
    local -a start=("--wsrep-cluster-address=gcomm://$addresses" "--wsrep-sst-donor=$donors"
        --wsrep-notify-cmd=/opt/stackwright/view.sh)
    # Record before a transfer overwrites the volume whether it contained data.
    if [[ $how == join && $position == *:-[23] ]]; then touch $FIRST_FILE; else first_transfer_done || return 1; fi
    [[ $position != *:-* ]] && start+=("--wsrep-start-position=$position")
    if [[ $how == begin ]]; then
        rmdir $DATA 2>/dev/null # only if it is empty
        [[ -d $DATA ]] || make_database || return 1
        [[ -z $stopping ]] || return 0
        start+=(--wsrep-new-cluster)
        # Galera refuses to start a cluster with a server that was not the last to leave. Here the election has compared positions.
        [[ ! -e $DATA/grastate.dat ]] || sed -i 's/^safe_to_bootstrap:.*/safe_to_bootstrap: 1/' $DATA/grastate.dat
    else
        rm -f $FRESH_FILE # from now on the data is the result of a transfer
    fi
    mkdir -p $DATA
    rm -f $DATA/gvwstate.dat # otherwise the cluster may still have a member with the same UUID
    say "$how $addresses, position $position"
    echo running >$PHASE_FILE
    mariadbd --defaults-file=$CNF "${start[@]}" --datadir=$DATA --wsrep-node-name="$POD_NAME" --wsrep-node-address="$POD_IP" &
    mariadbd_pid=$!
    [[ -z $stopping ]] || end $mariadbd_pid &
    watch_split $mariadbd_pid &
    local watchers=$! rc
    [[ $how != join ]] || { watch_transfer $mariadbd_pid "$donors" & watchers+=" $!"; }
    # A signal interrupts `wait` before mariadbd has ended, so repeat it until the process is gone.
    while :; do
        wait $mariadbd_pid
        rc=$?
        kill -0 $mariadbd_pid 2>/dev/null || break
    done
    mariadbd_pid=
    kill $watchers 2>/dev/null
    rm -f $SERVED_FILE
    say "mariadbd ended with $rc"
}

main() {
    local how addresses donors
    rm -f $SERVED_FILE $PHASE_FILE $POSITION_FILE $RUN/said
    listen &
    until [[ -n $stopping ]]; do
        find_position >$POSITION_FILE
        echo waiting >$PHASE_FILE # after the position, because the peers compare it
        how=
        until [[ -n $stopping || -n $how ]]; do
            read -r how addresses donors < <(decide)
            [[ -n $how ]] || { sleep 1 & wait $!; }
        done
        [[ -n $stopping ]] || run "$how" "$addresses" "$donors"
        sleep 1 & wait $!
    done
    kill $(jobs -p) 2>/dev/null
    exit 0
}

main
