# Bridges to physical networks; sourced. BRIDGES is a list of "bridge:interface", with an empty interface for none.

check_bridges() {
    local pair interface
    for pair in $BRIDGES; do
        interface=${pair#*:}
        [[ -n $interface ]] || continue
        exists "$interface" ||
            fail "Node $NODE_NAME has no network interface $interface, which external_networks name for bridge ${pair%%:*}"
        ! carries_node "$interface" ||
            fail "Node $NODE_NAME is itself reached through $interface: it cannot be a port of bridge ${pair%%:*}"
    done
}

# make_bridge BRIDGE INTERFACE: other ports of the bridge are kept, because agents add some.
make_bridge() {
    vsctl --may-exist add-br "$1" -- set Bridge "$1" "datapath_type=$datapath" || fail "cannot make bridge $1 on node $NODE_NAME"
    ip link set dev "$1" up
    [[ -n $2 ]] || return 0
    local bridge
    bridge=$(vsctl iface-to-br "$2" 2>/dev/null)
    [[ -z $bridge || $bridge == "$1" ]] || vsctl del-port "$bridge" "$2"
    vsctl --may-exist add-port "$1" "$2" || fail "cannot make $2 a port of bridge $1 on node $NODE_NAME"
    ip link set dev "$2" up
}

make_bridges() {
    local pair
    for pair in $BRIDGES; do make_bridge "${pair%%:*}" "${pair#*:}"; done
}
