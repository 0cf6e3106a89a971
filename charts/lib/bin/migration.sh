# Where live migrations come in; to be sourced. libvirt listens there, Nova tells the nodes that ask, so both must find the
# same address, and each after its own restart.

# migration_address: of INTERFACE; without one, the node's own ADDRESS. Where Open vSwitch runs in user space and took the
# interface for tunnels, its bridge has the address.
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
