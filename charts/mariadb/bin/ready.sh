#!/bin/bash
# Readiness: this server responds and belongs to the primary component, so it can be read and written.
. /opt/stackwright/lib.sh
[[ $(wsrep_status wsrep_ready) == ON ]] && rm -f $FRESH_FILE && first_transfer_done && touch $SERVED_FILE
