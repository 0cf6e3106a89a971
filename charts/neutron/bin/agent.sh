#!/bin/bash
# Runs an agent of Neutron on a node: agent.sh PROGRAM ARGUMENTS...
#
#   wait for Open vSwitch   which says in /run/openvswitch what the node is like
#   write /tmp/node.d       the options that differ from node to node
#   make a control group    outside of the pod, for dnsmasq, haproxy and alike, which go on while the agent is replaced
#   start the helper        that runs privileged functions (privsep.py), and then the agent in place of this shell
#
# An agent that has nothing to do with the switch (SWITCH is empty) is started with the node's name alone.
set -u
RUN=/run/openvswitch
PATIENCE=${PATIENCE:-120} # seconds

say() { printf '%(%T)T %s\n' -1 "$*"; }

# The last words of a container are the cause that the cloud's status shows.
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

# A control group of the node, which kubelet does not clear when the pod goes: see outlive.sh. Version 1 has a tree for
# each controller, and the one of cpuset takes nobody before it has processors.
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
[[ ! -d /host/cgroup ]] || make_group
if [[ -n $SWITCH ]]; then python3 /opt/stackwright/privsep.py serve "${@:2}" --config-dir /tmp/node.d & fi
exec "$@" --config-dir /tmp/node.d
