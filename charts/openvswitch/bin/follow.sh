# Repairs the ports of virtual machines when their tap devices change. Only needed for the userspace datapath of Open vSwitch.
# Sourced.
#
# Three errors leave virtual machines without network:
#   another device   After a soft reboot a virtual machine has a new tap with the same name, and its port is still in the
#                    database, so vswitchd keeps using the deleted device. When the port is deleted from the datapath,
#                    vswitchd adds it again at once, with the same number and the new device.
#   down             vswitchd and libvirt set flags of a new tap concurrently, and each reads, changes and writes all flags. If
#                    vswitchd writes last, with flags that it read before libvirt's change, the tap is down again.
#   deleted          If a virtual machine is deleted while its node is not served, Nova ends its process later, but leaves its
#                    port. The port without a device still attracts packets for its address, which another virtual machine
#                    may have by then.

follow_devices() {
    local what name flags
    local -A gone
    while read -r what name flags; do
        if [[ $what == deleted ]]; then
            gone[$name]=1
            forget "$name" &
        elif [[ ,$flags, != *,UP,* ]]; then
            raise "$name" &
        elif [[ -n ${gone[$name]:-} ]]; then
            unset "gone[$name]"
            reopen "$name"
        fi
    done < <(ip -oneline monitor link | sed -un \
        -e 's/^Deleted [0-9]*: \(tap[^ :@]*\)[^<]*<.*/deleted \1 -/p' \
        -e 's/^[0-9]*: \(tap[^ :@]*\)[^<]*<\([^>]*\)>.*/there \1 \2/p')
}

# Whether a port belongs to a virtual machine. DHCP servers have taps too, but as internal ports of vswitchd.
is_machine() { [[ $(vsctl --if-exists get Interface "$1" type) == '""' ]]; }

# raise NAME: sets a tap up if it is still down after a second, when its creation has finished.
raise() {
    sleep 1
    exists "$1" && is_machine "$1" || return 0
    [[ $(ip -oneline link show dev "$1" 2>/dev/null) != *[\<,]UP[,\>]* ]] || return 0
    ip link set dev "$1" up && say "device $1 was down"
}

# forget NAME: deletes a port that gets no device within 30 seconds; a reboot takes less. A stopped virtual machine gets a new
# port when it is started. A resized one gets a new port before its device, so a port with another UUID is kept.
forget() {
    local port _
    port=$(vsctl --if-exists get Interface "$1" _uuid)
    [[ -n $port ]] && is_machine "$1" || return 0
    for _ in {1..30}; do
        sleep 1
        ! exists "$1" || return 0
    done
    [[ $(vsctl --if-exists get Interface "$1" _uuid) == "$port" ]] || return 0
    vsctl --if-exists del-port "$1" && say "port $1 had no device any more"
}

# reopen NAME: makes vswitchd open the new device, if one of its sockets has a deleted device (-1 in the fifth column).
reopen() {
    awk '$5 == -1 { found = 1 } END { exit !found }' /proc/net/packet && exists "$1" && is_machine "$1" || return 0
    ovs-appctl -t $CONTROL dpctl/del-if netdev@ovs-netdev "$1" 2>/dev/null && say "port $1 has a new device"
}
