#!/bin/bash
# Runs an agent of Neutron on a node: agent.sh PROGRAM ARGUMENTS...
#
#   wait for Open vSwitch    it publishes its datapath and the tunnel address in /run/openvswitch
#   write /tmp/node.d        options that differ between nodes
#   wait for OVN             if the agent uses its databases (ovn.py)
#   create a control group   outside of the pod, for dnsmasq, haproxy and similar, which keep running while the agent is replaced
#   start the helper         for privileged functions (privsep.py), then replace this shell by the agent
#
# For an agent that does not use the switch (SWITCH is empty), only the node's name is written.
set -u
RUN=/run/openvswitch
PATIENCE=${PATIENCE:-120} # seconds

say() { printf '%(%T)T %s\n' -1 "$*"; }

# Writes the termination message, which the cloud's status shows as the cause.
fail() {
    say "$*" >&2
    printf '%s' "$*" >/dev/termination-log
    exit 1
}

wait_for_openvswitch() {
    local since=$SECONDS
    [[ -e $RUN/datapath ]] || say "waiting for Open vSwitch"
    until [[ -S $RUN/db.sock && -e $RUN/datapath && -e $RUN/tunnel-address ]]; do
        ((SECONDS - since < PATIENCE)) ||
            fail "Open vSwitch on node $NODE_NAME is not ready after $PATIENCE s; see its pod there"
        sleep 0.2
    done
}

write_node_options() {
    mkdir -p /tmp/node.d
    printf '[DEFAULT]\nhost = %s\n' "$NODE_NAME" >/tmp/node.d/node.conf
    [[ -n $SWITCH ]] || return 0
    printf '[ovs]\nlocal_ip = %s\ndatapath_type = %s\n' "$(<$RUN/tunnel-address)" "$(<$RUN/datapath)" >>/tmp/node.d/node.conf
}

use_addresses_of_ovn() {
    local variable variables
    [[ -e /etc/neutron/ovn_metadata_agent.ini ]] || return 0
    variables=$(python3 /opt/stackwright/ovn.py /etc/neutron/ovn_metadata_agent.ini) || fail "cannot configure OVN's databases"
    while read -r variable; do export "${variable?}"; done <<<"$variables"
}

# Creates control groups of the node, whose processes kubelet does not kill with the pod (outlive.sh). Version 1 has one tree per
# controller; a group of cpuset accepts no process until its CPUs are set.
make_group() {
    local tree group file
    for tree in /host/cgroup /host/cgroup/*; do
        [[ -e $tree/cgroup.procs ]] || continue
        for group in "$tree/openstack-vms" "$tree/openstack-vms/$NODE_NAME"; do
            mkdir -p "$group"
            for file in cpuset.cpus cpuset.mems; do
                [[ $tree == */cpuset* && -z $(<"$group/$file") ]] || continue
                cat "${group%/*}/$file" >"$group/$file"
            done
        done
        [[ $tree != /host/cgroup ]] || break
    done
    mkdir -p /tmp/bin
    for file in dnsmasq haproxy keepalived radvd; do ln -sf /opt/stackwright/outlive.sh /tmp/bin/$file; done
    export PATH=/tmp/bin:$PATH
}

[[ -z $SWITCH ]] || wait_for_openvswitch
write_node_options
use_addresses_of_ovn
[[ ! -d /host/cgroup ]] || make_group
if [[ -n $SWITCH ]]; then python3 /opt/stackwright/privsep.py serve "${@:2}" --config-dir /tmp/node.d & fi
exec "$@" --config-dir /tmp/node.d
