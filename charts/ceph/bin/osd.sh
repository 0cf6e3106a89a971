#!/bin/bash
# Runs an OSD whose disk is a sparse file in its volume. The volume contains the OSD's UUID. A pod with an empty volume
# registers a new OSD and purges the previous OSD of this pod.
. /opt/stackwright/lib.sh
DATA=$HOME_DIR/osd
UUID_FILE=$HOME_DIR/uuid

NOBODY=2  # ENOENT, the monitors' response if this pod never had an OSD

make_store() {
    local id key other others
    if [[ ! -s $UUID_FILE ]]; then
        others=$(ask osd ls-tree "$POD_NAME") || (($? == NOBODY)) ||
            { say_once "waiting for the monitors: $(tail -n1 $RUN/error)"; return 1; }
        for other in $others; do
            say "forgetting osd.$other, whose volume is gone"
            ask osd purge "$other" --force --yes-i-really-mean-it >/dev/null || return 1
        done
        cat /proc/sys/kernel/random/uuid >$UUID_FILE.new && mv $UUID_FILE.new $UUID_FILE
    fi
    # Passed by standard input, so that the key is in no argument. `osd new` is idempotent: a retry returns the same id.
    key=$(python3 /opt/stackwright/identity.py key "osd.$(<$UUID_FILE)") || return 1
    id=$(printf '{"cephx_secret": "%s"}' "$key" | ask osd new "$(<$UUID_FILE)" -i -)
    [[ -n $id ]] || { say_once "waiting for the monitors: $(tail -n1 $RUN/error)"; return 1; }
    say "making osd.$id"
    rm -rf $DATA.new && mkdir $DATA.new || return 1
    printf '[osd.%s]\n\tkey = %s\n' "$id" "$key" >$DATA.new/keyring
    ceph-osd --mkfs -i "$id" --osd-uuid "$(<$UUID_FILE)" --osd-data $DATA.new --keyring $DATA.new/keyring \
        --bluestore-block-size $(($(numfmt --from=auto "$OSD_SIZE") / 100 * 95)) >$RUN/error 2>&1 || { tail $RUN/error >&2; return 1; }
    keep $DATA.new $DATA
}

prepare() {
    identify client.admin || return 1
    [[ -d $DATA ]] || make_store || return 1
    daemon=(ceph-osd -f -i "$(<$DATA/whoami)" --osd-data $DATA --keyring $DATA/keyring --crush-location "root=default host=$POD_NAME")
}

supervise
