# What the scripts of Ceph's daemons share. Read by bash from mon.sh, mgr.sh and osd.sh, which have two parts each:
#   prepare   makes what the daemon needs; when it fails it is tried again
#   daemon    the command, an array that prepare fills
# A loop and not `exec`: after a crash kubelet would wait longer from time to time (CrashLoopBackOff).

HOME_DIR=/var/lib/ceph    # the volume
RUN=/run/ceph             # lost with the pod
ORDINAL=${POD_NAME##*-}

pid=
stopping=

say() { echo "$(date -u +%FT%TZ) [start] $*" >&2; }

# For what is said again and again: only when it is another.
say_once() { [[ $(cat $RUN/said 2>/dev/null) == "$*" ]] || { echo "$*" >$RUN/said; say "$*"; }; }

stop() {
    stopping=1
    [[ -n $pid ]] && kill -TERM "$pid"
}
trap stop TERM INT

# Names of whom the container may be → ceph.conf, keyring, and the monitors' addresses in $RUN/monitors.
identify() {
    python3 /opt/stackwright/identity.py write "$@" >$RUN/monitors 2>$RUN/error || { say_once "waiting: $(<$RUN/error)"; return 1; }
}

# Asks the monitors; their silence must not last.
ask() { timeout 20 ceph --connect-timeout 10 "$@" 2>$RUN/error; }

# A folder that is made whole, or not at all: keep NEW FOLDER.
keep() { sync -f "$1" && mv -T "$1" "$2" && sync -f "$HOME_DIR"; }

supervise() {
    local rc
    until [[ -n $stopping ]]; do
        if prepare && [[ -z $stopping ]]; then
            "${daemon[@]}" &
            pid=$!
            [[ -z $stopping ]] || kill -TERM $pid
            # A signal ends the wait but not the daemon, so wait until it has really gone.
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
