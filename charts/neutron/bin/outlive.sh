#!/bin/bash
# Stands for dnsmasq, haproxy, keepalived and radvd in the PATH of agents (agent.sh): leaves the pod's control group for
# one of the node, then becomes the program. Who asks for an address or for metadata while the agent's pod is replaced
# gets an answer, and the next agent finds the processes by their pid files, for all see the node's processes (hostPID).
# /host/cgroup is the pod's view of /sys/fs/cgroup, which `ip netns exec` covers.
for procs in /host/cgroup/openstack-vms/"$NODE_NAME"/cgroup.procs /host/cgroup/*/openstack-vms/"$NODE_NAME"/cgroup.procs; do
    [[ ! -e $procs ]] || echo $$ >"$procs"
done
exec "/usr/sbin/${0##*/}" "$@"
