#!/bin/bash
# Runs ovn-northd, which turns the networks of the northbound database into flows in the southbound one.
set -u
. /opt/stackwright/lib.sh
north=$(by_address "$NORTHBOUND") && south=$(by_address "$SOUTHBOUND") || exit 1
end_if_moved "$SOUTHBOUND" "$south" & # each member has one Service for both databases
exec ovn-northd --ovnnb-db="$north" --ovnsb-db="$south" "${CERTIFICATE[@]}" --unixctl=/tmp/ovn-northd.ctl \
    --n-threads=1 "${QUIET[@]}"
