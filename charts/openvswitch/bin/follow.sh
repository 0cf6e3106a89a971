# Notices that a port's device was replaced by another one of the same name. Sourced.
#
# A virtual machine that is rebooted softly gets a new tap under its old name, and its port in the database stays. With its
# own datapath vswitchd goes on listening to the device that is gone. A port that is taken out of the datapath is put back
# at once, with the same number and the device that is there now. (The kernel's datapath drops the port by itself.)

follow_devices() {
    local number name
    local -A gone
    while read -r number name; do
        if [[ $number == Deleted ]]; then
            gone[${name#*: }]=1
        elif [[ -n ${gone[$name]:-} ]]; then
            unset "gone[$name]"
            reopen "$name"
        fi
    done < <(ip -oneline monitor link | sed -un 's/^\(Deleted\|[0-9]*:\) \(\([0-9]*: \)\?[^ :@]*\)[:@].*/\1 \2/p')
}

# reopen NAME: only where the device is not vswitchd's own; agents move those to other namespaces, which is no loss.
reopen() {
    [[ $(vsctl --if-exists get Interface "$1" type) == '""' ]] || return 0
    ovs-appctl -t $CONTROL dpctl/del-if netdev@ovs-netdev "$1" 2>/dev/null && say "port $1 has a new device"
}
