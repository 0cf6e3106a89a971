#!/bin/bash
# Starts libvirtd, so that virtual machines outlive it and this pod: they are in control groups of their own, their
# state, sockets, logs and definitions are on the node.
#
# Environment: NODE_NAME, ADDRESS (of the node), INTERFACE (of live migration, may be empty), TLS (a folder, may be empty)
# and QEMU_TLS (the same), CEPH (names of clients, may be empty), QEMU_USER and QEMU_GROUP (names).
set -eu
umask 022
. /opt/stackwright/migration.sh
. /opt/stackwright/certificates.sh
. /opt/stackwright/ceph.sh
. /opt/stackwright/groups.sh
. /opt/stackwright/logs.sh

# After a power cut Open vSwitch still has ports of virtual machines that are gone. Such a port has no device any more, and
# the machine's next start would find its name taken. (Internal ports have theirs in other network namespaces.)
forget_lost_taps() {
    local port
    [[ -S /run/openvswitch/db.sock ]] || return 0
    for port in $(ovs-vsctl --timeout=5 --bare --columns=name find Interface 'type=""' || true); do
        [[ $port == tap* && ! -e /sys/class/net/$port ]] || continue
        echo "Port $port of Open vSwitch has no device: deleting it"
        ovs-vsctl --timeout=5 --if-exists del-port "$port"
    done
}

# QEMU opens the device itself. systemd lets everybody on a host do that, too.
allow_kvm() {
    [[ ! -c /dev/kvm ]] || chmod 0666 /dev/kvm
}

# What post-copy migration needs of the destination: QEMU may take page faults. libvirt's packages do the same to a host.
allow_post_copy() {
    if [[ -e /dev/userfaultfd ]]; then
        chown "root:$QEMU_GROUP" /dev/userfaultfd && chmod 0660 /dev/userfaultfd
    else
        echo 1 >/proc/sys/vm/unprivileged_userfaultfd
    fi
}

# host_uuid: the same for the life of the node. Many machines have the same one, or none, in their firmware.
host_uuid() {
    local file=/var/lib/libvirt/stackwright-host-uuid
    [[ -s $file ]] || cat /proc/sys/kernel/random/uuid >"$file"
    cat "$file"
}

configure() {
    local address
    address=$(migration_address)
    mkdir -p /etc/libvirt/{qemu,secrets} /var/log/libvirt/qemu
    chmod 0700 /etc/libvirt/secrets
    {
        cat /etc/stackwright/libvirtd.conf
        printf 'host_uuid = "%s"\nlisten_addr = "%s"\n' "$(host_uuid)" "$address"
    } >/etc/libvirt/libvirtd.conf
    {
        cat /etc/stackwright/qemu.conf
        printf 'migration_address = "%s"\n' "$address"
    } >/etc/libvirt/qemu.conf
}

make_groups
open_door
let_machines_out &
allow_kvm
allow_post_copy || true # nothing but post-copy would be missing
configure
if [[ -n $TLS || -n $QEMU_TLS ]]; then
    publish_certificates
    follow_certificates &
fi
publish_ceph_secrets write forget
[[ -z $CEPH ]] || follow_ceph_secrets &
forget_lost_taps
follow_logs &

# Ours comes first: qemu-system-x86_64 in /opt/stackwright is how libvirt starts QEMU.
export PATH="/opt/stackwright:$PATH"
exec libvirtd --listen --config /etc/libvirt/libvirtd.conf --pid-file /run/libvirt/libvirtd.pid
