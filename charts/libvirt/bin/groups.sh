# Control groups of virtual machines; sourced. They are outside of the pod's control groups, whose processes end with the pod.
#
# QEMU may not move its process there itself. It writes its process ID to a FIFO, and this script moves it as root.

GROUP=/run/libvirt/stackwright-group # a file with the node's name
DOOR=/run/libvirt/stackwright-door

# make_groups: creates the groups in each hierarchy of version 1, or in the only hierarchy of version 2.
make_groups() {
    local hierarchy group file
    for hierarchy in /host/cgroup /host/cgroup/*; do
        [[ -e $hierarchy/cgroup.procs ]] || continue
        for group in "$hierarchy/openstack-vms" "$hierarchy/openstack-vms/$NODE_NAME"; do
            mkdir -p "$group"
            # A new cpuset group has no CPUs and accepts no process until they are set.
            for file in cpuset.cpus cpuset.mems; do
                [[ $hierarchy == */cpuset* && -z $(<"$group/$file") ]] || continue
                cat "${group%/*}/$file" >"$group/$file"
            done
        done
        [[ $hierarchy != /host/cgroup ]] || break # version 2: its subfolders are groups, not hierarchies
    done
    echo "$NODE_NAME" >"$GROUP"
}

# open_door: creates the FIFO. Must run before libvirtd, so that each virtual machine finds it.
open_door() {
    rm -f "$DOOR"
    mkfifo -m 0600 "$DOOR"
    chgrp "$QEMU_GROUP" "$DOOR"
    chmod 0620 "$DOOR"
}

# move PID: moves a process into the groups. Refuses processes that do not run as QEMU's user.
move() {
    local procs
    [[ $1 =~ ^[1-9][0-9]*$ && $(stat -c %U "/proc/$1") == "$QEMU_USER" ]] || return 1
    for procs in "/host/cgroup/openstack-vms/$NODE_NAME/cgroup.procs" /host/cgroup/*/"openstack-vms/$NODE_NAME/cgroup.procs"; do
        [[ ! -e $procs ]] || echo "$1" >"$procs" || return 1
    done
}

# let_machines_out: moves each process that writes its ID to the FIFO. Opened for writing too, so that `read` gets no EOF.
let_machines_out() {
    local pid
    while read -r pid; do
        move "$pid" || echo "Process ${pid//[^0-9]/?} is not moved out of the pod" >&2
    done <>"$DOOR"
}
