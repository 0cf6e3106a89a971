#!/bin/bash
# Prints the state of this member, for its peers on STATE_PORT:
#   empty    no data: first start, or the volume was lost
#   forming  it creates a new cluster with the others
#   member   it belongs to a cluster that has been healthy; empty members join that cluster
. /opt/stackwright/lib.sh
if ! has_data; then [[ -e $FORMING ]] && echo forming || echo empty
else [[ -e $FORMED ]] && echo member || echo forming; fi
