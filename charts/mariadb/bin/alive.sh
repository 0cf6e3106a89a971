#!/bin/bash
# Liveness: a mariadbd that has been ready once still responds. A server that waits for its peers or receives a state transfer
# is healthy: a restart would only lose time.
. /opt/stackwright/lib.sh
[[ ! -e $SERVED_FILE ]] || sql 'SELECT 1' >/dev/null
