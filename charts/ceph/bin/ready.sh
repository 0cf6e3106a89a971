#!/bin/bash
# Readiness: the monitor is in the quorum, the manager is initialized, or the OSD is active.
# Queries the admin socket directly, because `ceph daemon` would start Python for each probe.
case $1 in
    mon) question=mon_status answer='"state": ?"(leader|peon)"' ;;
    mgr) question=mgr_status answer='"initialized": ?true' ;;
    osd) question=status answer='"state": ?"active"' ;;
esac
printf '{"prefix": "%s"}\0' "$question" | socat -T3 -t3 - "UNIX-CONNECT:/run/ceph/$1.asok" | grep -qaE "$answer"
