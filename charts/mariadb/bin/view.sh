#!/bin/bash
# MariaDB runs it at each change of the members, before it takes anything from or for them, with "--members
# <uuid>/<name>/<address>,…" among the arguments (wsrep_notify_cmd). It must not ask MariaDB anything.
#
# Keeps on the volume how many servers there are at least. While one server becomes three, the pod of server 0 is the last
# that is told so, and until then the others go on without it when it ends.
. /opt/stackwright/lib.sh
members=$*
size=$(seen_size)
known=$size
while [[ $members =~ /$BASE-([0-9]+)/(.*) ]]; do
    members=${BASH_REMATCH[2]}
    ((BASH_REMATCH[1] < size)) || size=$((BASH_REMATCH[1] + 1))
done
((size == known)) || { echo "$size" >$SIZE_FILE.new && sync $SIZE_FILE.new && mv $SIZE_FILE.new $SIZE_FILE && sync $HOME_DIR; }
