# Variables and functions of this chart's scripts; sourced.
RUN=/run/openvswitch
DB=$RUN/conf.db
SOCKET=$RUN/db.sock
CONTROL=$RUN/ovs-vswitchd.ctl

say() { printf '%(%T)T %s\n' -1 "$*"; }

# Writes the termination message, which the cloud's status shows as the cause.
fail() {
    say "$*" >&2
    printf '%s' "$*" >/dev/termination-log
    exit 1
}

vsctl() { ovs-vsctl --db="unix:$SOCKET" --timeout=20 "$@"; }

# publish NAME TEXT: writes a file for other pods atomically.
publish() { printf '%s\n' "$2" >"$RUN/.$1.new" && mv -f "$RUN/.$1.new" "$RUN/$1"; }

exists() { [[ -e /sys/class/net/$1 ]]; }

# addresses INTERFACE [-4|-6]: prints the global addresses of an interface, as "10.0.0.1/24".
addresses() { ip -o "${@:2}" addr show dev "$1" scope global | awk '{print $4}'; }

# Whether the node itself is reached through an interface, so that it must not become a port of a bridge.
carries_node() {
    [[ " $(ip -4 route show default) $(ip -6 route show default) " == *" dev $1 "* ]] ||
        addresses "$1" | cut -d/ -f1 | grep -qxF -e "$NODE_IP"
}
