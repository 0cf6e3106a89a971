#!/bin/bash
# Runs ovs-vswitchd and configures the node's switch from the chart's values. Steps:
#
#   find the datapath      the kernel's if its module is loaded or can be loaded, otherwise the userspace datapath (netdev)
#   start vswitchd
#   repair ports           that the previous vswitchd left in namespaces of routers and DHCP servers (mend.sh; netdev only)
#   repair devices         that are replaced under a port, in the background (follow.sh; netdev only)
#   create bridges         to physical networks, each with its interface (bridges.sh)
#   find the address       for tunnels; with netdev a bridge takes over the interface (tunnel.sh)
#   publish both           to other pods on the node: /run/openvswitch/{datapath,tunnel-address}
#
# Each step is idempotent. This shell keeps running, to forward SIGTERM at once.
set -uo pipefail
. /opt/stackwright/lib.sh
. /opt/stackwright/bridges.sh
. /opt/stackwright/tunnel.sh
. /opt/stackwright/mend.sh
. /opt/stackwright/follow.sh
. /etc/openvswitch/node.conf # DATAPATH, TUNNEL_INTERFACE, BRIDGES

vswitchd=
stopping=
trap 'stopping=1; [[ -z $vswitchd ]] || kill -TERM "$vswitchd" 2>/dev/null' TERM INT

find_datapath() {
    datapath=$DATAPATH
    [[ $datapath == auto ]] || return 0
    datapath=netdev
    [[ -e /sys/module/openvswitch ]] || modprobe -q openvswitch 2>/dev/null
    [[ ! -e /sys/module/openvswitch ]] || datapath=system
}

check_node() {
    [[ $datapath != netdev || -c /dev/net/tun ]] ||
        fail "Node $NODE_NAME has neither the kernel module openvswitch nor /dev/net/tun; one of them is needed"
    check_bridges
    check_tunnel
}

wait_for_database() {
    local tries
    for tries in {1..100}; do
        ovs-vsctl --db="unix:$SOCKET" --timeout=2 --no-wait init 2>/dev/null && return
        [[ -z $stopping ]] || exit 0
        sleep 0.1
    done
    fail "ovsdb-server on node $NODE_NAME does not answer at $SOCKET"
}

configure() {
    local settings=("external_ids:hostname=$NODE_NAME" "external_ids:system-id=$NODE_NAME" "external_ids:rundir=$RUN")
    # Without it TCP packets of VMs would lack their checksums. vswitchd reads it only when it starts.
    [[ $datapath != netdev ]] || settings+=(other_config:userspace-tso-enable=true)
    vsctl --no-wait set Open_vSwitch . "${settings[@]}" || fail "cannot configure Open vSwitch on node $NODE_NAME"
}

rm -f /tmp/ready $RUN/datapath # pods that start now wait until the bridges exist again
find_datapath
say "datapath: $datapath"
check_node
wait_for_database
configure
ovs-vswitchd "unix:$SOCKET" --unixctl=$CONTROL --pidfile=$RUN/ovs-vswitchd.pid -vconsole:info -vsyslog:off -vfile:off &
vswitchd=$!
vsctl init || fail "ovs-vswitchd on node $NODE_NAME does not start" # returns once vswitchd has applied the database
if [[ $datapath == netdev ]]; then
    mend
    while :; do follow_devices; sleep 1; done & # `ip monitor` ends when its buffer overflows
fi
make_bridges
find_tunnel_address
publish tunnel-address "$tunnel_address"
publish datapath "$datapath"
: >/tmp/ready
say "ready; tunnels from ${tunnel_address:-no address}"
while kill -0 "$vswitchd" 2>/dev/null; do
    wait "$vswitchd"
    code=$?
done
[[ -n $stopping ]] && exit 0
fail "ovs-vswitchd on node $NODE_NAME ended with code $code"
