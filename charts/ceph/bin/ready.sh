#!/bin/bash
# Ready: the daemon says that it takes part: a monitor in the quorum, a manager that is active, an OSD that is up.
# Its admin socket is asked directly: `ceph daemon` would start a Python each time.
case $1 in
    mon) question=mon_status answer='"state": ?"(leader|peon)"' ;;
    mgr) question=mgr_status answer='"initialized": ?true' ;;
    osd) question=status answer='"state": ?"active"' ;;
esac
printf '{"prefix": "%s"}\0' "$question" | socat -T3 -t3 - "UNIX-CONNECT:/run/ceph/$1.asok" | grep -qaE "$answer"
