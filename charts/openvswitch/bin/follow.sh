# Follows the devices of virtual machines, for Open vSwitch's own datapath. Sourced. (The kernel's needs none of it.)
#
# Three things go wrong there, and a machine is without network until somebody notices:
#   another device   A machine that is rebooted softly gets a new tap under its old name, and its port in the database stays.
#                    vswitchd goes on listening to the device that is gone. A port that is taken out of the datapath is put
#                    back at once, with the same number and the device that is there now.
#   down             vswitchd and libvirt set flags of a new tap at the same time, each by reading, changing and writing all
#                    of them. When vswitchd writes last what it read first, the tap is down again.
#   gone             Of a machine that is deleted while nobody serves its node, Nova finds the process later, but knows no
#                    port any more. Without its device the port still takes what is meant for its address, which may be
#                    another machine's by now.

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

# Whether a port is that of a virtual machine. DHCP servers have taps as well, which are vswitchd's own.
is_machine() { [[ $(vsctl --if-exists get Interface "$1" type) == '""' ]]; }

# raise NAME: if it is still down a second later, when whoever made it is done.
raise() {
    sleep 1
    exists "$1" && is_machine "$1" || return 0
    [[ $(ip -oneline link show dev "$1" 2>/dev/null) != *[\<,]UP[,\>]* ]] || return 0
    ip link set dev "$1" up && say "device $1 was down"
}

# forget NAME: if no device comes in a time in which any machine that is only rebooted has one. A machine that is stopped
# gets its port anew when it is started, and one that is resized before its device: that port is another one.
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

# reopen NAME: if vswitchd has a socket whose device (the fifth column) is gone.
reopen() {
    awk '$5 == -1 { found = 1 } END { exit !found }' /proc/net/packet && exists "$1" && is_machine "$1" || return 0
    ovs-appctl -t $CONTROL dpctl/del-if netdev@ovs-netdev "$1" 2>/dev/null && say "port $1 has a new device"
}
