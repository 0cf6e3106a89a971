# The address for incoming live migrations; sourced. libvirt listens on it and Nova reports it to other nodes, so both must
# find the same address, also after a restart of only one of them.

# migration_address: prints the address of INTERFACE or, without INTERFACE, the node's ADDRESS. With the userspace datapath of
# Open vSwitch, the bridge br-tunnel-phy may have taken over the address of the interface.
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
        sleep 1 # Open vSwitch may be moving the address between them
    done
    echo "Interface $INTERFACE (live_migration_interface) has no IPv4 address on node $NODE_NAME" | tee /dev/termination-log >&2
    return 1
}
