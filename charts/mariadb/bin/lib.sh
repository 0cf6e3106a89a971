# Variables and functions of a MariaDB pod, sourced by start.sh, state.sh, view.sh, ready.sh and alive.sh.

HOME_DIR=/var/lib/mysql    # the volume
DATA=$HOME_DIR/data        # the database: complete, or the result of a state transfer
FRESH_FILE=$DATA/stackwright-fresh  # the database was created here and has never served
FIRST_FILE=$HOME_DIR/first-transfer  # the first state transfer to an empty volume has not finished
SIZE_FILE=$HOME_DIR/size    # minimum number of servers, from the members that this server has seen (view.sh)
CNF=/etc/mysql/stackwright/my.cnf
RUN=/run/mysqld            # deleted with the pod, but not with its container: start.sh deletes files of the previous container
PHASE_FILE=$RUN/phase      # "waiting" once the position is known, "running" once mariadbd starts
POSITION_FILE=$RUN/position  # "<uuid> <seqno>" of the data, while waiting
SERVED_FILE=$RUN/served    # exists once this mariadbd has been ready

NO_HISTORY=00000000-0000-0000-0000-000000000000
ORDINAL=${POD_NAME##*-}
BASE=${POD_NAME%-*}

# Prints the number of servers that this one has seen: 1 without the file, "?" if the file is damaged.
seen_size() {
    local seen=1
    [[ ! -e $SIZE_FILE ]] || seen=$(cat $SIZE_FILE 2>/dev/null)
    if [[ $seen =~ ^[1-9][0-9]?$ ]]; then echo "$seen"; else echo "?"; fi
}

# Prints the number of servers, or "?": the maximum of the environment, which is outdated while servers are added, and the number
# seen. It is never too small, because a server that is left out of an election may have the newest data.
cluster_size() {
    local seen
    seen=$(seen_size)
    if [[ $seen == "?" ]] || ((seen > CLUSTER_SIZE)); then echo "$seen"; else echo "$CLUSTER_SIZE"; fi
}

# Records that the volume has complete data: a later state transfer that is cut off may have overwritten the newest data.
first_transfer_done() { [[ ! -e $FIRST_FILE ]] || { rm -f $FIRST_FILE && sync $HOME_DIR; }; }

say() { echo "$(date -u +%FT%TZ) [start] $*" >&2; }

# Logs a message unless it is the same as the last one.
say_once() { [[ $(cat $RUN/said 2>/dev/null) == "$*" ]] || { echo "$*" >$RUN/said; say "$*"; }; }

# unix_socket authenticates the OS user mysql as mysql@localhost, so no argument contains a password.
sql() { timeout 4 mariadb --no-defaults --protocol=socket --socket=$RUN/mysqld.sock -NBe "$1" 2>/dev/null; }

wsrep_status() { sql "SHOW GLOBAL STATUS LIKE '$1'" | cut -f2; }
