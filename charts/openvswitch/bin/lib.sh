# What the scripts of this chart share. Sourced.
RUN=/run/openvswitch
DB=$RUN/conf.db
SOCKET=$RUN/db.sock
CONTROL=$RUN/ovs-vswitchd.ctl

say() { printf '%(%T)T %s\n' -1 "$*"; }

# The last words of a container are the cause that the cloud's status shows.
fail() {
    say "$*" >&2
    printf '%s' "$*" >/dev/termination-log
    exit 1
}

vsctl() { ovs-vsctl --db="unix:$SOCKET" --timeout=20 "$@"; }

# A file that other pods read appears whole or not at all.
publish() { printf '%s\n' "$2" >"$RUN/.$1.new" && mv -f "$RUN/.$1.new" "$RUN/$1"; }

exists() { [[ -e /sys/class/net/$1 ]]; }

# "10.0.0.1/24" of each address of an interface; -4, -6 or nothing; global ones only.
addresses() { ip -o "${@:2}" addr show dev "$1" scope global | awk '{print $4}'; }

# Whether the node itself is reached through an interface: then nobody may take it away.
carries_node() {
    [[ " $(ip -4 route show default) $(ip -6 route show default) " == *" dev $1 "* ]] ||
        addresses "$1" | cut -d/ -f1 | grep -qxF -e "$NODE_IP"
}
