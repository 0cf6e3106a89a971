#!/bin/bash
# Runs ovn-northd, which turns the networks of the northbound database into flows in the southbound one.
set -u
. /opt/stackwright/lib.sh
northbound=$(remote "$NORTHBOUND" "$NORTHBOUND_PORT") && southbound=$(remote "$SOUTHBOUND" "$SOUTHBOUND_PORT") || exit 1
exec ovn-northd --ovnnb-db="$northbound" --ovnsb-db="$southbound" --unixctl=/tmp/ovn-northd.ctl --n-threads=1 \
    -vconsole:info -vsyslog:off -vfile:off
