# A bound for what virtual machines make QEMU write to their node's disk: their consoles, and QEMU's own log; to be sourced.
#
# QEMU has these files open, and outlives the pod. Of a file that is too long the beginning becomes a hole, which takes no disk: its
# end stays where Nova and libvirt read it, and QEMU goes on behind it, whether it appends or knows where it is.

LONGEST=$((2 << 20)) # bytes on the disk
KEPT=$((1 << 20))    # of a file that was longer

# bound_logs: files that are too long, of all machines.
bound_logs() {
    local blocks size file
    while read -r -d '' blocks size file; do
        ((blocks * 512 > LONGEST && size > KEPT)) || continue
        # A file system that knows no holes: without the end of the log rather than without a bound.
        fallocate --punch-hole --offset 0 --length $((size - KEPT)) "$file" 2>/dev/null || truncate --size 0 "$file"
    done < <(
        find /var/lib/nova/instances -mindepth 2 -maxdepth 2 -type f -name console.log -printf '%b %s %p\0'
        find /var/log/libvirt/qemu -maxdepth 1 -type f -name '*.log' -printf '%b %s %p\0'
    )
}

# forget_logs: QEMU's own, of machines that have left this node for a week; libvirt keeps them for ever.
forget_logs() {
    local file name
    while read -r -d '' file; do
        name=${file##*/} name=${name%.log}
        [[ -e /etc/libvirt/qemu/$name.xml || -e /run/libvirt/qemu/$name.pid ]] || rm -f "$file"
    done < <(find /var/log/libvirt/qemu -maxdepth 1 -type f -name '*.log' -mtime +6 -print0)
}

follow_logs() {
    while sleep 10; do
        bound_logs 2>/dev/null || true # a file that went meanwhile
        forget_logs || true
    done
}
