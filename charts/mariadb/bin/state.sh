#!/bin/bash
# Prints the state of this server, for its peers on STATE_PORT: "<ordinal> <phase> <uuid> <seqno>". Phases:
#   waiting   mariadbd does not run; uuid and seqno are the position of the data
#   starting  mariadbd is about to run, runs but is not connected yet, or has ended and its position is not known yet
#   split     mariadbd runs without a majority
#   primary   mariadbd serves; waiting servers may join it
. /opt/stackwright/lib.sh
phase=$(cat $PHASE_FILE 2>/dev/null)
if [[ $phase != waiting ]]; then
    phase=starting
    [[ $(wsrep_status wsrep_cluster_status) == non-Primary ]] && phase=split
    [[ $(wsrep_status wsrep_ready) == ON ]] && phase=primary
fi
echo "$ORDINAL $phase $(cat $POSITION_FILE 2>/dev/null)"
