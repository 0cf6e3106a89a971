#!/bin/bash
# Runs a monitor. The first one makes the cluster, of itself alone; each other joins by itself. So there is no moment in
# which two of three could take themselves for a cluster of their own, and one monitor can become three.
. /opt/stackwright/lib.sh
DATA=$HOME_DIR/mon

address() { awk -v name="$POD_NAME" '$1 == name {print $2}' $RUN/monitors; }

# The monitors that there are already. The first one asks too: its volume may be new where the others' are not.
find_monitors() {
    [[ $MONITORS == "$POD_NAME" ]] && return 1
    ask mon getmap -o $RUN/monmap >/dev/null
}

make_store() {
    rm -rf $DATA.new && mkdir $DATA.new || return 1
    if find_monitors; then
        say "joining the monitors that there are"
    elif ((ORDINAL == 0)); then
        say "making a cluster"
        monmaptool --create --clobber --addv "$POD_NAME" "[v2:$(address):3300]" \
            --fsid "$(sed -n 's/^fsid = //p' /etc/ceph/ceph.conf)" $RUN/monmap >/dev/null || return 1
    else
        say_once "waiting for a monitor that can be joined"
        return 1
    fi
    ceph-mon --mkfs -i "$POD_NAME" --mon-data $DATA.new --monmap $RUN/monmap --keyring /etc/ceph/keyring || return 1
    keep $DATA.new $DATA
}

prepare() {
    identify mon. client.admin client.rgw mgr.ceph || return 1
    [[ -d $DATA ]] || make_store || return 1
    # Others see the Service's address, which outlives the pod.
    daemon=(ceph-mon -f -i "$POD_NAME" --mon-data $DATA --public-addr "$(address):3300" --public-bind-addr "$POD_IP:3300")
}

supervise
