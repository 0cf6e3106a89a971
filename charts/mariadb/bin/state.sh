#!/bin/bash
# One line about this server, for its peers, on STATE_PORT: "<ordinal> <phase> <uuid> <seqno>". Phases:
#   waiting   mariadbd is not running; uuid and seqno say how far the data is
#   starting  mariadbd is about to run, runs but is not connected yet, or has ended and its position is being found
#   split     mariadbd runs, without a majority
#   primary   mariadbd serves: whoever waits may join
. /opt/stackwright/lib.sh
phase=$(cat $PHASE_FILE 2>/dev/null)
if [[ $phase != waiting ]]; then
    phase=starting
    [[ $(wsrep_status wsrep_cluster_status) == non-Primary ]] && phase=split
    [[ $(wsrep_status wsrep_ready) == ON ]] && phase=primary
fi
echo "$ORDINAL $phase $(cat $POSITION_FILE 2>/dev/null)"
