#!/bin/bash
# Checks whether KVM works on this node. Virtual machines may hang although /dev/kvm can be opened, so the check boots a
# kernel that prints one line to its serial console. The result is cached on the node until the next boot or another version
# of QEMU. Nova's compute service reads it there; the operator reads it in this container's termination message.
#
# Environment: VIRT_TYPE (kvm, qemu, or empty: detect), ADDRESS and INTERFACE as in migration.sh.
set -eu
answer=/run/libvirt/stackwright-hypervisor.json
key="$(</proc/sys/kernel/random/boot_id) $(qemu-system-x86_64 --version | head -1) ${VIRT_TYPE:-auto}"
# Timeouts in seconds. A guest boots in 1 to 3 seconds and prints its kernel's first line much earlier. A guest without output
# hangs and uses a whole CPU, so it is killed early.
silence=5 patience=12

boots() {
    local line pid out end=$((SECONDS + patience)) found=1
    exec {out}< <(exec qemu-system-x86_64 -accel kvm -cpu host -m 128 -nodefaults -display none -no-reboot \
        -serial stdio -kernel /usr/share/kvm-check/vmlinuz -initrd /usr/share/kvm-check/initrd \
        -append "console=ttyS0 earlyprintk=serial,ttyS0 panic=-1" </dev/null 2>&1)
    pid=$!
    while ((SECONDS < end)) && IFS= read -r -t "$silence" -u "$out" line; do
        [[ $line != *kvm-check-ok* ]] || { found=0 && break; }
    done 2>/dev/null
    kill -KILL "$pid" 2>/dev/null || true
    return "$found"
}

judge() {
    if [[ -n $VIRT_TYPE ]]; then
        type=$VIRT_TYPE reason="conf.virt_type says so"
    elif [[ ! -c /dev/kvm ]]; then
        type=qemu reason="This node has no /dev/kvm"
    elif boots; then
        type=kvm reason="KVM boots Linux on this node"
    else
        type=qemu reason="KVM does not boot Linux on this node"
    fi
}

known=$(sed -n 's/.*"key": "\(.*\)", "virt_type".*/\1/p' "$answer" 2>/dev/null || true)
if [[ $known != "$key" ]]; then
    judge
    printf '{"key": "%s", "virt_type": "%s", "reason": "%s"}\n' "$key" "$type" "$reason" >"$answer.new"
    mv "$answer.new" "$answer"
fi

# Replaces the key by the address for incoming migrations, because the certificate must contain that address.
. /opt/stackwright/migration.sh
address=$(migration_address)
sed "s/^{\"key\": \".*\", \"virt_type\"/{\"address\": \"$address\", \"virt_type\"/" "$answer" |
    tee "${TERMINATION_LOG:-/dev/termination-log}"
