#!/bin/bash
# Runs mariadbd as a member of a Galera cluster of CLUSTER_SIZE servers, or more (lib.sh), and again when it ends.
#
# A loop and not `exec mariadbd`: after a crash kubelet would wait longer from time to time (CrashLoopBackOff), and the
# peers, which must see this server before one of them may start, would wait with it.
#
#   round:  make the database, if there is none and this server is to begin
#           find the position of the data and tell the peers (state.sh on STATE_PORT)
#           a peer is primary?           join it
#           all servers wait?            the one with the newest data begins, the lowest ordinal among equals,
#                                        unless the position of one is unknown (decide.sh)
#           else                         look again
set -u
. /opt/stackwright/lib.sh
. /opt/stackwright/decide.sh

STARTING=30 # seconds that one is waited for that is to end while it starts
ASKED=5     # servers that are asked for a primary while nobody knows how many there are: the chart allows no more
mariadbd_pid=
stopping=

stop() {
    stopping=1
    # No job without a pid: run() may be about to read $!, and then sees to it itself.
    if [[ -n $mariadbd_pid ]]; then end "$mariadbd_pid" & fi
}
trap stop TERM INT

# MariaDB 11.8 with Galera that is told to end while it starts hangs for good, so it is told once it answers. One that
# does not for long, as when it receives data, is killed: that costs nothing that a crash would not.
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

# In a directory of its own, renamed when whole: a half made database is never taken for one.
make_database() {
    say "making an empty database"
    rm -rf $HOME_DIR/new
    mariadb-install-db --defaults-file=$CNF --datadir=$HOME_DIR/new --skip-test-db --auth-root-authentication-method=socket \
        --auth-root-socket-user=mysql --wsrep-on=OFF >/tmp/install.log 2>&1 || { cat /tmp/install.log >&2; return 1; }
    local user password
    user=$(quote "$(</run/secrets/mariadb-root/username)")
    password=$(quote "$(</run/secrets/mariadb-root/password)")
    # On standard input, from a builtin: the password is in no process list, file or log.
    printf '%s\n' "FLUSH PRIVILEGES;" "CREATE USER $user@'%' IDENTIFIED BY $password;" \
        "GRANT ALL PRIVILEGES ON *.* TO $user@'%' WITH GRANT OPTION;" |
        mariadbd --defaults-file=$CNF --bootstrap --datadir=$HOME_DIR/new --wsrep-on=OFF --log-warnings=0 || return 1
    touch $HOME_DIR/new/${FRESH_FILE##*/}
    sync -f $HOME_DIR/new && mv -T $HOME_DIR/new $DATA && sync -f $HOME_DIR
}

# "<uuid> <seqno>" of the data: -2 without any, -1 if the position is unknown, -3 if the first state transfer to this
# volume was cut off: then the server has never had whole data, and nothing that no other has. During a transfer
# grastate.dat may name a position that the files no longer have; sst_in_progress is the file of MariaDB's scripts for
# that time.
find_position() {
    local uuid= seqno= half=-1
    [[ ! -e $FIRST_FILE ]] || half=-3
    [[ -n $(ls -A $DATA 2>/dev/null) ]] || { echo "$NO_HISTORY -2"; return; }
    [[ ! -e $DATA/sst_in_progress ]] || { echo "$NO_HISTORY $half"; return; }
    uuid=$(sed -n 's/^uuid: *//p' $DATA/grastate.dat 2>/dev/null)
    seqno=$(sed -n 's/^seqno: *//p' $DATA/grastate.dat 2>/dev/null)
    if [[ ${uuid:-$NO_HISTORY} == "$NO_HISTORY" ]]; then
        # A database that was just made and has never served is empty; any other without a history is a cut-off transfer.
        if [[ -e $FRESH_FILE ]]; then echo "$NO_HISTORY -2"; else echo "$NO_HISTORY $half"; fi
        return
    fi
    # After a crash only the InnoDB log knows.
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

# "<address> <ordinal> <phase> <uuid> <seqno>" of every other server that answers.
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

# Prints how to start: "join <addresses> <donors>", "begin", or nothing, and why, while there is nothing to do but wait.
decide() {
    local peers primaries donors verdict
    peers=$(ask_peers)
    primaries=$(awk '$3 == "primary" {print $1}' <<<"$peers" | paste -sd,)
    # A donor stalls, so rather not the lowest ordinal, which most likely takes the writes. The last comma: or any other.
    donors=$(awk -v base="$BASE" '$3 == "primary" {print base "-" $2}' <<<"$peers" | sort -r | paste -sd,),
    [[ -z $primaries ]] || { echo "join $primaries $donors"; return; }

    verdict=$({ echo "$ORDINAL waiting $(<$POSITION_FILE)"; cut -d' ' -f2- <<<"$peers"; } | elect "$(cluster_size)")
    case $verdict in
        "begin $ORDINAL") echo begin ;;
        wait*) say_once "waiting: ${verdict#wait }$(about_size "$verdict")" ;;
    esac
}

# What to do where the file on the volume keeps this server waiting.
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

# A server without a majority whose peers have all gone down gives up too, so that the newest of them may begin.
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

# Galera ends a transfer whose sender has gone only where there is a majority. Without one the server that receives the data
# waits for good, and the others for it: they need it to find the newest data.
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
    # Before a transfer overwrites the volume: did it have any data of its own?
    if [[ $how == join && $position == *:-[23] ]]; then touch $FIRST_FILE; else first_transfer_done || return 1; fi
    [[ $position != *:-* ]] && start+=("--wsrep-start-position=$position")
    if [[ $how == begin ]]; then
        rmdir $DATA 2>/dev/null # an empty one
        [[ -d $DATA ]] || make_database || return 1
        [[ -z $stopping ]] || return 0
        start+=(--wsrep-new-cluster)
        # Galera refuses to begin with a server that was not the last to leave. Here the positions were compared.
        [[ ! -e $DATA/grastate.dat ]] || sed -i 's/^safe_to_bootstrap:.*/safe_to_bootstrap: 1/' $DATA/grastate.dat
    else
        rm -f $FRESH_FILE # from here on the data is what a transfer leaves
    fi
    mkdir -p $DATA
    rm -f $DATA/gvwstate.dat # else the cluster meets a member of the same name that it has not forgotten yet
    say "$how $addresses, position $position"
    echo running >$PHASE_FILE
    mariadbd --defaults-file=$CNF "${start[@]}" --datadir=$DATA --wsrep-node-name="$POD_NAME" --wsrep-node-address="$POD_IP" &
    mariadbd_pid=$!
    [[ -z $stopping ]] || end $mariadbd_pid &
    watch_split $mariadbd_pid &
    local watchers=$! rc
    [[ $how != join ]] || { watch_transfer $mariadbd_pid "$donors" & watchers+=" $!"; }
    # A signal ends the wait but not mariadbd, so wait until it has really gone.
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
        echo waiting >$PHASE_FILE # only now: the peers compare the position
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
