# What the scripts of a MariaDB pod share. Read by bash from start.sh, state.sh, view.sh, ready.sh and alive.sh.

HOME_DIR=/var/lib/mysql    # the volume
DATA=$HOME_DIR/data        # the database: made whole, or what a state transfer left
FRESH_FILE=$DATA/stackwright-fresh  # made here, and has never served
FIRST_FILE=$HOME_DIR/first-transfer  # the volume had no data, and the transfer to it is not done
SIZE_FILE=$HOME_DIR/size    # how many servers there were at least, by the members that this one has had (view.sh)
CNF=/etc/mysql/stackwright/my.cnf
RUN=/run/mysqld            # lost with the pod, but not with its container: start.sh takes out what the one before left
PHASE_FILE=$RUN/phase      # "waiting" once the position is known, "running" from the start of mariadbd on
POSITION_FILE=$RUN/position  # "<uuid> <seqno>" of the data, while waiting
SERVED_FILE=$RUN/served    # this mariadbd has been ready once

NO_HISTORY=00000000-0000-0000-0000-000000000000
ORDINAL=${POD_NAME##*-}
BASE=${POD_NAME%-*}

# How many servers this one has had: 1 without the file, "?" if the file is damaged.
seen_size() {
    local seen=1
    [[ ! -e $SIZE_FILE ]] || seen=$(cat $SIZE_FILE 2>/dev/null)
    if [[ $seen =~ ^[1-9][0-9]?$ ]]; then echo "$seen"; else echo "?"; fi
}

# How many servers there are, or "?": the environment is that of the pod's revision, and a server has seen more while more
# were added. Never fewer, for whoever is left out of an election may have the newest data.
cluster_size() {
    local seen
    seen=$(seen_size)
    if [[ $seen == "?" ]] || ((seen > CLUSTER_SIZE)); then echo "$seen"; else echo "$CLUSTER_SIZE"; fi
}

# The volume has whole data: a state transfer that is cut off from now on may have overwritten the newest of all.
first_transfer_done() { [[ ! -e $FIRST_FILE ]] || { rm -f $FIRST_FILE && sync $HOME_DIR; }; }

say() { echo "$(date -u +%FT%TZ) [start] $*" >&2; }

# For what is said again and again: only when it is another.
say_once() { [[ $(cat $RUN/said 2>/dev/null) == "$*" ]] || { echo "$*" >$RUN/said; say "$*"; }; }

# The OS user mysql is the database user mysql@localhost, by unix_socket: no password in any argument.
sql() { timeout 4 mariadb --no-defaults --protocol=socket --socket=$RUN/mysqld.sock -NBe "$1" 2>/dev/null; }

wsrep_status() { sql "SHOW GLOBAL STATUS LIKE '$1'" | cut -f2; }
