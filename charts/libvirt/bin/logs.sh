# Limits the disk usage of files that QEMU writes for virtual machines: console logs and QEMU's own logs; sourced.
#
# QEMU keeps these files open and outlives the pod. The beginning of a too long file is replaced by a hole, which uses no disk
# space. The offsets of its end do not change, so Nova and libvirt can read it, and QEMU continues to write at its position.

LONGEST=$((2 << 20)) # bytes of disk space that a file may use
KEPT=$((1 << 20))    # bytes that remain of a longer file

# bound_logs: shortens the files of all virtual machines that are too long.
bound_logs() {
    local blocks size file
    while read -r -d '' blocks size file; do
        ((blocks * 512 > LONGEST && size > KEPT)) || continue
        # On a file system without holes, the whole log is discarded.
        fallocate --punch-hole --offset 0 --length $((size - KEPT)) "$file" 2>/dev/null || truncate --size 0 "$file"
    done < <(
        find /var/lib/nova/instances -mindepth 2 -maxdepth 2 -type f -name console.log -printf '%b %s %p\0'
        find /var/log/libvirt/qemu -maxdepth 1 -type f -name '*.log' -printf '%b %s %p\0'
    )
}

# forget_logs: deletes logs of QEMU, which libvirt keeps forever, a week after the virtual machine left this node.
forget_logs() {
    local file name
    while read -r -d '' file; do
        name=${file##*/} name=${name%.log}
        [[ -e /etc/libvirt/qemu/$name.xml || -e /run/libvirt/qemu/$name.pid ]] || rm -f "$file"
    done < <(find /var/log/libvirt/qemu -maxdepth 1 -type f -name '*.log' -mtime +6 -print0)
}

follow_logs() {
    while sleep 10; do
        bound_logs 2>/dev/null || true # a file may have been deleted meanwhile
        forget_logs || true
    done
}
