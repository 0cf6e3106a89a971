#!/bin/bash
# MariaDB runs this script after each change of its state and of the members, before it exchanges data with them
# (wsrep_notify_cmd). Arguments include "--status <state>" and "--members <uuid>/<name>/<address>,…". The script must not send
# queries to MariaDB.
#
# Records on the volume that the first state transfer is done (lib.sh), and the minimum number of servers. While a cluster grows
# from one server to three, the pod of server 0 gets its new CLUSTER_SIZE last. If it ends before, the others serve without it,
# and only this record tells it about them.
. /opt/stackwright/lib.sh
[[ ! " $* " =~ " --status "(joined|synced|donor)" " ]] || first_transfer_done
members=$*
size=$(seen_size)
[[ $size != "?" ]] || exit 0 # the current members may be incomplete
known=$size
while [[ $members =~ /$BASE-([0-9]+)/(.*) ]]; do
    members=${BASH_REMATCH[2]}
    ((BASH_REMATCH[1] < size)) || size=$((BASH_REMATCH[1] + 1))
done
((size == known)) || { echo "$size" >$SIZE_FILE.new && sync $SIZE_FILE.new && mv $SIZE_FILE.new $SIZE_FILE && sync $HOME_DIR; }
