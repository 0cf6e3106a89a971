#!/bin/bash
# Replaces dnsmasq, haproxy, keepalived and radvd in the PATH of agents (agent.sh): moves itself from the pod's control group to
# one of the node, then executes the program. So DHCP and metadata remain available while the agent's pod is replaced, and the
# next agent finds the processes by their PID files, because its pod sees all processes of the node (hostPID).
# /host/cgroup is a mount of the node's /sys/fs/cgroup, because `ip netns exec` hides /sys/fs/cgroup.
for procs in /host/cgroup/openstack-vms/"$NODE_NAME"/cgroup.procs /host/cgroup/*/openstack-vms/"$NODE_NAME"/cgroup.procs; do
    [[ ! -e $procs ]] || echo $$ >"$procs"
done
exec "/usr/sbin/${0##*/}" "$@"
