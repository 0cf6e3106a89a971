# Functions of Ceph's daemons, sourced by mon.sh, mgr.sh, osd.sh and rgw.sh. Each of these defines:
#   prepare   a function that creates what the daemon needs; it is retried until it succeeds
#   daemon    an array with the command, set by prepare
# A loop instead of `exec`: after each crash kubelet would wait longer for the restart (CrashLoopBackOff).

HOME_DIR=/var/lib/ceph    # the volume
RUN=/run/ceph             # deleted with the pod
ORDINAL=${POD_NAME##*-}

pid=
stopping=

say() { echo "$(date -u +%FT%TZ) [start] $*" >&2; }

# Logs a message unless it is the same as the last one.
say_once() { [[ $(cat $RUN/said 2>/dev/null) == "$*" ]] || { echo "$*" >$RUN/said; say "$*"; }; }

stop() {
    stopping=1
    [[ -n $pid ]] && kill -TERM "$pid"
}
trap stop TERM INT

# identify NAME...: writes ceph.conf, the keyring with these names, and the monitors' addresses to $RUN/monitors.
identify() {
    python3 /opt/stackwright/identity.py write "$@" >$RUN/monitors 2>$RUN/error || { say_once "waiting: $(<$RUN/error)"; return 1; }
}

# Sends a command to the monitors, with a timeout.
ask() { timeout 20 ceph --connect-timeout 10 "$@" 2>$RUN/error; }

# keep NEW FOLDER: renames a complete new folder, so that FOLDER is never incomplete.
keep() { sync -f "$1" && mv -T "$1" "$2" && sync -f "$HOME_DIR"; }

supervise() {
    local rc
    until [[ -n $stopping ]]; do
        if prepare && [[ -z $stopping ]]; then
            "${daemon[@]}" &
            pid=$!
            [[ -z $stopping ]] || kill -TERM $pid
            # A signal interrupts `wait` before the daemon has ended, so repeat it until the process is gone.
            while :; do
                wait $pid
                rc=$?
                kill -0 $pid 2>/dev/null || break
            done
            pid=
            say "${daemon[0]} ended with $rc"
        fi
        [[ -n $stopping ]] || { sleep 0.5 & wait $!; }
    done
    exit 0
}
