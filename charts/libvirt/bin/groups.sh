# Control groups of virtual machines, outside of the pod, where everything is killed with the pod; to be sourced.
#
# QEMU has no right to move itself there, so it asks: it writes its process id to the FIFO `door`, and root moves it.

GROUP=/run/libvirt/stackwright-group # the node's name
DOOR=/run/libvirt/stackwright-door

# make_groups: in each hierarchy of version 1 or in the only one of version 2.
make_groups() {
    local hierarchy group file
    for hierarchy in /host/cgroup /host/cgroup/*; do
        [[ -e $hierarchy/cgroup.procs ]] || continue
        for group in "$hierarchy/openstack-vms" "$hierarchy/openstack-vms/$NODE_NAME"; do
            mkdir -p "$group"
            # A new group of cpuset has no processor and takes no process.
            for file in cpuset.cpus cpuset.mems; do
                [[ $hierarchy == */cpuset* && -z $(<"$group/$file") ]] || continue
                cat "${group%/*}/$file" >"$group/$file"
            done
        done
        [[ $hierarchy != /host/cgroup ]] || break # version 2: what is below are groups
    done
    echo "$NODE_NAME" >"$GROUP"
}

# open_door: before libvirtd runs, so that there is no machine that finds none.
open_door() {
    rm -f "$DOOR"
    mkfifo -m 0600 "$DOOR"
    chgrp "$QEMU_GROUP" "$DOOR"
    chmod 0620 "$DOOR"
}

# move PID: a process of QEMU's user, and no other, whoever asks.
move() {
    local procs
    [[ $1 =~ ^[1-9][0-9]*$ && $(stat -c %U "/proc/$1") == "$QEMU_USER" ]] || return 1
    for procs in "/host/cgroup/openstack-vms/$NODE_NAME/cgroup.procs" /host/cgroup/*/"openstack-vms/$NODE_NAME/cgroup.procs"; do
        [[ ! -e $procs ]] || echo "$1" >"$procs" || return 1
    done
}

# let_machines_out: moves who asks. Open for writing too, so that it sees no end.
let_machines_out() {
    local pid
    while read -r pid; do
        move "$pid" || echo "Process ${pid//[^0-9]/?} is not moved out of the pod" >&2
    done <>"$DOOR"
}
