#!/bin/bash
# Runs ovn-northd, which turns the networks of the northbound database into flows in the southbound one.
set -u
. /opt/stackwright/lib.sh
exec ovn-northd --ovnnb-db="$NORTHBOUND" --ovnsb-db="$SOUTHBOUND" "${CERTIFICATE[@]}" --unixctl=/tmp/ovn-northd.ctl \
    --n-threads=1 "${QUIET[@]}"
