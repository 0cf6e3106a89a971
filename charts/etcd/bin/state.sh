#!/bin/bash
# One word about this member, for its peers, on STATE_PORT:
#   empty    no data: on its first start, or its volume was lost
#   forming  it makes a new cluster with the others
#   member   it belongs to a cluster that has worked: whoever is empty joins that one
. /opt/stackwright/lib.sh
if ! has_data; then [[ -e $FORMING ]] && echo forming || echo empty
else [[ -e $FORMED ]] && echo member || echo forming; fi
