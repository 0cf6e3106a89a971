#!/bin/bash
# Alive: a mariadbd that has served once still answers. One that waits for its peers, or receives their data, is well:
# to restart it would only lose time.
. /opt/stackwright/lib.sh
[[ ! -e $SERVED_FILE ]] || sql 'SELECT 1' >/dev/null
