# Decides which of the waiting servers starts the cluster, and when a state transfer is lost. Pure; sourced by start.sh and tests.

# elect SIZE: reads a line "<ordinal> <phase> <uuid> <seqno>" for each server that responds. Prints "begin <ordinal>" or
# "wait <reason>". Special values of seqno:
#   -1  the position is unknown and may be the highest of all: blocks the election until an administrator decides
#   -2  the server has no data: it wins only if no server has data
#   -3  the server's first state transfer was cut off: its sender has all the data. It never wins, and blocks the election only
#       if no server has data
elect() {
    awk -v size="$1" '
        $2 == "waiting" && !($1 in here) {
            here[$1] = 1; count++
            if ($4 == "-3") { half = half " " $1; next }
            if ($4 !~ /^(-2|[0-9]+)$/ || ($4 + 0 >= 0 && $3 ~ /^[0-]*$/)) { unknown = unknown " " $1; next }
            if ($4 + 0 >= 0 && !($3 in seen)) { seen[$3] = 1; histories++; all = all " " $3 }
            if (best == "" || $4 + 0 > top || ($4 + 0 == top && $1 + 0 < best + 0)) { best = $1; top = $4 + 0 }
        }
        END {
            if (size !~ /^[1-9][0-9]*$/)
                print "wait nobody knows how many servers there are"
            else if (count < size + 0)
                print "wait " count + 0 " of " size " servers are here; any other may hold newer data"
            else if (unknown != "")
                print "wait the position of server" unknown " is unknown: a state transfer was cut off, or its log cannot be" \
                    " read, and it may hold the newest data. If another server has all of it, delete the volume and the" \
                    " pod of server" unknown "; else restore a backup"
            else if (histories > 1)
                print "wait the servers hold data of different clusters; delete the volumes of the wrong ones:" all
            else if (half != "" && !histories)
                print "wait no server has data, but the first state transfer to server" half " was cut off, so there was" \
                    " some: restore a backup, or delete the volume and the pod of server" half " to begin without any data"
            else
                print "begin " best
        }'
}

# transfer_lost SENDERS: reads a line as above for each peer that responds. True if no peer is primary, and each of the SENDERS
# (ordinals separated by spaces) has ended or has no majority. A peer that does not respond, or starts, may still be sending.
transfer_lost() {
    awk -v senders="$1" '
        { phase[$1] = $2; primary += $2 == "primary" }
        END {
            count = split(senders, sender, " ")
            for (i = 1; i <= count; i++) lost += phase[sender[i]] ~ /^(waiting|split)$/
            exit !(count && lost == count && !primary)
        }'
}
