#!/bin/bash
# Runs a monitor. The first monitor creates a cluster of one member once all others report that they have no store; each other
# monitor joins it. This prevents a second cluster, even if the first monitor lost its volume, and allows a change from 1 to 3.
. /opt/stackwright/lib.sh
DATA=$HOME_DIR/mon
listener=

address() { awk -v name="$POD_NAME" '$1 == name {print $2}' $RUN/monitors; }

# Reports "empty" to other monitors on the monitor port while this monitor has no store.
tell_empty() {
    [[ -n $listener ]] && return
    socat "TCP-LISTEN:3300,bind=$POD_IP,fork,reuseaddr" SYSTEM:"echo empty" &
    listener=$!
}

hush() {
    [[ -n $listener ]] && kill $listener && wait $listener
    listener=
} 2>/dev/null

# Prints the state of each other monitor: "empty", "ceph" if it runs, or "silent" without a response.
ask_others() {
    local name address state
    while read -r name address; do
        [[ $name == "$POD_NAME" ]] && continue
        state=$(socat -T3 -t3 - "TCP:$address:3300,connect-timeout=3" </dev/null 2>/dev/null | head -c5)
        echo "${state:-silent}"
    done <$RUN/monitors
}

make_store() {
    local others
    tell_empty
    others=$(ask_others)
    rm -rf $DATA.new && mkdir $DATA.new || return 1
    if [[ $others == *ceph* ]] && ask mon getmap -o $RUN/monmap >/dev/null; then
        say "joining the monitors that there are"
    elif ((ORDINAL == 0)) && [[ ! $others =~ ceph|silent ]]; then
        say "making a cluster"
        monmaptool --create --clobber --addv "$POD_NAME" "[v2:$(address):3300]" \
            --fsid "$(sed -n 's/^fsid = //p' /etc/ceph/ceph.conf)" $RUN/monmap >/dev/null || return 1
    else
        say_once "waiting; the others are" $others
        return 1
    fi
    ceph-mon --mkfs -i "$POD_NAME" --mon-data $DATA.new --monmap $RUN/monmap --keyring /etc/ceph/keyring || return 1
    keep $DATA.new $DATA
}

prepare() {
    identify mon. client.admin client.rgw mgr.ceph || return 1
    [[ -d $DATA ]] || make_store || return 1
    hush
    # Clients use the Service's address, which does not change when the pod is replaced.
    daemon=(ceph-mon -f -i "$POD_NAME" --mon-data $DATA --public-addr "$(address):3300" --public-bind-addr "$POD_IP:3300")
}

supervise
