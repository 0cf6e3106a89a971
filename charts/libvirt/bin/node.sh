# What is particular to this node; to be sourced.

# migration_address: of INTERFACE, where live migrations come in; without one, the node's own ADDRESS. Where Open vSwitch
# runs in user space and took the interface for tunnels, its bridge has the address.
migration_address() {
    local found place
    [[ -n $INTERFACE ]] || { echo "$ADDRESS"; return; }
    for _ in {1..30}; do
        for place in "$INTERFACE" br-tunnel-phy; do
            found=$(ip -oneline -4 address show dev "$place" scope global 2>/dev/null |
                sed -n 's/.* inet \([0-9.]*\).*/\1/p' | head -1)
            [[ -z $found ]] || { echo "$found"; return; }
        done
        [[ -e /sys/class/net/$INTERFACE ]] || break
        sleep 1 # it is being moved from one to the other
    done
    echo "Interface $INTERFACE (live_migration_interface) has no IPv4 address on node $NODE_NAME" | tee /dev/termination-log >&2
    return 1
}

# host_uuid: the same for the life of the node. Many machines have the same one, or none, in their firmware.
host_uuid() {
    local file=/var/lib/libvirt/stackwright-host-uuid
    [[ -s $file ]] || cat /proc/sys/kernel/random/uuid >"$file"
    cat "$file"
}
