#!/bin/bash
# MariaDB runs it at each change of its own state and of the members, before it takes anything from or for them, with
# "--status <state>" and "--members <uuid>/<name>/<address>,…" among the arguments (wsrep_notify_cmd). It must not ask
# MariaDB anything.
#
# Notes on the volume that the first state transfer is done (lib.sh), and how many servers there are at least. While one
# server becomes three, the pod of server 0 is the last that is told so, and until then the others go on without it when
# it ends.
. /opt/stackwright/lib.sh
[[ ! " $* " =~ " --status "(joined|synced|donor)" " ]] || first_transfer_done
members=$*
size=$(seen_size)
[[ $size != "?" ]] || exit 0 # whoever is a member now need not be all
known=$size
while [[ $members =~ /$BASE-([0-9]+)/(.*) ]]; do
    members=${BASH_REMATCH[2]}
    ((BASH_REMATCH[1] < size)) || size=$((BASH_REMATCH[1] + 1))
done
((size == known)) || { echo "$size" >$SIZE_FILE.new && sync $SIZE_FILE.new && mv $SIZE_FILE.new $SIZE_FILE && sync $HOME_DIR; }
