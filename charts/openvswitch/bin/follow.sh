# Follows the devices of virtual machines, for Open vSwitch's own datapath. Sourced. (The kernel's needs none of it.)
#
# Two things go wrong there, and the machine is without network until somebody notices:
#   another device   A machine that is rebooted softly gets a new tap under its old name, and its port in the database stays.
#                    vswitchd goes on listening to the device that is gone. A port that is taken out of the datapath is put
#                    back at once, with the same number and the device that is there now.
#   down             vswitchd and libvirt set flags of a new tap at the same time, each by reading, changing and writing all
#                    of them. When vswitchd writes last what it read first, the tap is down again.

follow_devices() {
    local what name flags
    local -A gone
    while read -r what name flags; do
        if [[ $what == deleted ]]; then
            gone[$name]=1
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

# Whether a device is that of a virtual machine. DHCP servers have taps as well, which are vswitchd's own.
is_machine() { exists "$1" && [[ $(vsctl --if-exists get Interface "$1" type) == '""' ]]; }

# raise NAME: if it is still down a second later, when whoever made it is done.
raise() {
    sleep 1
    is_machine "$1" || return 0
    [[ $(ip -oneline link show dev "$1" 2>/dev/null) != *[\<,]UP[,\>]* ]] || return 0
    ip link set dev "$1" up && say "device $1 was down"
}

# reopen NAME: if vswitchd has a socket whose device (the fifth column) is gone.
reopen() {
    awk '$5 == -1 { found = 1 } END { exit !found }' /proc/net/packet && is_machine "$1" || return 0
    ovs-appctl -t $CONTROL dpctl/del-if netdev@ovs-netdev "$1" 2>/dev/null && say "port $1 has a new device"
}
