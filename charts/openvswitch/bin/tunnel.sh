# The node's address for tunnels; sourced.
#
# The kernel's datapath can use any address of the node. The userspace datapath (netdev) sends tunnel packets only through its
# bridges, so the interface becomes a port of a bridge, and its addresses and routes move to the bridge's internal port. They
# are saved to a file first, so that the next start can restore them after a crash.
BRIDGE=br-tunnel-phy
SAVED=$RUN/tunnel-interface

check_tunnel() {
    [[ -n $TUNNEL_INTERFACE ]] || return 0
    exists "$TUNNEL_INTERFACE" || fail "Node $NODE_NAME has no network interface $TUNNEL_INTERFACE, which tunnel_interface names"
    [[ $datapath == netdev ]] || return 0
    ! carries_node "$TUNNEL_INTERFACE" || fail "tunnel_interface $TUNNEL_INTERFACE is what node $NODE_NAME itself is \
reached through. Without the kernel module openvswitch, Open vSwitch must own the interface: name another one"
}

find_tunnel_address() {
    local interface=$TUNNEL_INTERFACE
    if [[ -z $interface ]]; then
        [[ $datapath != netdev ]] ||
            say "no tunnel_interface: with the datapath netdev VMs on different nodes will not reach each other"
        tunnel_address=$NODE_IP
        return
    fi
    if [[ $datapath == netdev ]]; then
        take_over
        interface=$BRIDGE
    fi
    tunnel_address=$(addresses "$interface" -4 | head -n1)
    : "${tunnel_address:=$(addresses "$interface" -6 | head -n1)}"
    tunnel_address=${tunnel_address%/*}
    [[ -n $tunnel_address ]] || fail "Network interface $TUNNEL_INTERFACE of node $NODE_NAME has no address for tunnels"
}

# Saves the interface's properties, one per line: link MAC MTU, address A/L, route R.
remember() {
    {
        echo "link $(<"/sys/class/net/$TUNNEL_INTERFACE/address") $(<"/sys/class/net/$TUNNEL_INTERFACE/mtu")"
        addresses "$TUNNEL_INTERFACE" | sed 's/^/address /'
        { ip -4 route show dev "$TUNNEL_INTERFACE"; ip -6 route show dev "$TUNNEL_INTERFACE"; } |
            grep -v 'proto kernel' | sed 's/ linkdown//; s/^/route /'
    } >$SAVED.new
    mv $SAVED.new $SAVED
}

take_over() {
    [[ -z $(addresses "$TUNNEL_INTERFACE") ]] || remember
    [[ -e $SAVED ]] || fail "Network interface $TUNNEL_INTERFACE of node $NODE_NAME has no address for tunnels"
    make_bridge $BRIDGE "$TUNNEL_INTERFACE"
    ip addr flush dev "$TUNNEL_INTERFACE" scope global
    local what first rest
    while read -r what first rest; do
        case $what in
        link)
            vsctl set Bridge $BRIDGE "other_config:hwaddr=$first" -- set Interface $BRIDGE "mtu_request=$rest"
            ip link set dev $BRIDGE up
            ;;
        address) ip addr replace "$first" dev $BRIDGE ;;
        route)
            # shellcheck disable=SC2086 # words are wanted
            ip route replace $first $rest dev $BRIDGE
            ;;
        esac
    done <$SAVED
}
