# Moves internal ports back to their network namespaces. Only needed for the userspace datapath. Sourced.
#
# With the userspace datapath a new vswitchd recreates its internal ports in the node's namespace. In the namespaces of routers
# and DHCP servers, to which agents had moved them, dead devices of the same name remain, and no agent notices. Here each new
# port replaces the dead device and gets its addresses and routes.

# Sets `ports` to the internal ports without an error, and waits until vswitchd has created their devices.
wait_for_ports() {
    local tries name missing
    for tries in {1..100}; do
        ports=$(vsctl --bare --columns=name find Interface type=internal error='[]')
        missing=
        for name in $ports; do exists "$name" || missing=$name; done
        [[ -n $missing ]] || return
        sleep 0.1
    done
    say "port $missing was not made"
}

mend() {
    local namespace name mended=0 here ports
    here=$(stat -Lc %i /proc/self/ns/net)
    local -A internal
    wait_for_ports
    for name in $ports; do internal[$name]=1; done
    for namespace in $(ip netns list 2>/dev/null | cut -d' ' -f1); do
        [[ $(stat -Lc %i "/run/netns/$namespace") != "$here" ]] || continue # a name may refer to the node's own namespace
        for name in $(ip -n "$namespace" -o link show 2>/dev/null | sed -n 's/^[0-9]*: \([^:@]*\)[:@].*/\1/p'); do
            [[ -n ${internal[$name]:-} ]] && exists "$name" || continue
            mend_port "$namespace" "$name" && mended=$((mended + 1))
        done
    done
    [[ $mended == 0 ]] || say "$mended ports were brought back to their namespaces"
}

# mend_port NAMESPACE NAME: replaces the dead device by the new port, with its MAC address, MTU, addresses and routes.
mend_port() {
    local in=(ip -n "$1") mac mtu addresses routes line
    read -r mac mtu < <("${in[@]}" -o link show dev "$2" | sed -n 's/.* mtu \([0-9]*\) .* link\/ether \([0-9a-f:]*\).*/\2 \1/p')
    addresses=$("${in[@]}" -o addr show dev "$2" | sed -n 's/^.* \(inet6\? [^ ]*\( brd [^ ]*\)\?\) scope \(global\|link\).*/\1/p')
    routes=$({ "${in[@]}" -4 route show table all dev "$2"; "${in[@]}" -6 route show table all dev "$2"; } |
        grep -vE 'proto kernel|table local|^(broadcast|local|multicast|anycast)' | sed 's/ linkdown//g; s/ expires [^ ]*//')
    [[ -n $mac ]] || return 1
    "${in[@]}" link del dev "$2" && ip link set dev "$2" netns "$1" || return 1
    "${in[@]}" link set dev "$2" address "$mac" mtu "$mtu" && "${in[@]}" link set dev "$2" up
    while read -r line; do
        # shellcheck disable=SC2086 # words are wanted
        [[ -z $line ]] || "${in[@]}" addr replace ${line#inet* } dev "$2"
    done <<<"$addresses"
    # Routes on the link first, because the others need them.
    while read -r line; do
        # shellcheck disable=SC2046,SC2086
        [[ -z $line ]] || "${in[@]}" $([[ $line == *:* ]] && echo -6) route replace $line dev "$2"
    done < <(grep -v ' via ' <<<"$routes"; grep ' via ' <<<"$routes")
    return 0
}
