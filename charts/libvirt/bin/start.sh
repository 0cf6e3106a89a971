#!/bin/bash
# Starts libvirtd such that virtual machines outlive it and this pod: they run in their own control groups, and their state,
# sockets, logs and definitions are on the node.
#
# Environment: NODE_NAME, ADDRESS (of the node), INTERFACE (for live migration, may be empty), TLS and QEMU_TLS (folders, may
# be empty), CEPH (names of clients, may be empty), QEMU_USER and QEMU_GROUP (names).
set -eu
umask 022
. /opt/stackwright/migration.sh
. /opt/stackwright/certificates.sh
. /opt/stackwright/ceph.sh
. /opt/stackwright/groups.sh
. /opt/stackwright/logs.sh

# Deletes ports of Open vSwitch without a device. After a power cut Open vSwitch still has ports of virtual machines that no
# longer run, and their next start would fail because the port name is in use. Internal ports are skipped, because their devices
# are in other network namespaces.
forget_lost_taps() {
    local port
    [[ -S /run/openvswitch/db.sock ]] || return 0
    for port in $(ovs-vsctl --timeout=5 --bare --columns=name find Interface 'type=""' || true); do
        [[ $port == tap* && ! -e /sys/class/net/$port ]] || continue
        echo "Port $port of Open vSwitch has no device: deleting it"
        ovs-vsctl --timeout=5 --if-exists del-port "$port"
    done
}

# QEMU opens the device with its own user. systemd sets the same mode on hosts.
allow_kvm() {
    [[ ! -c /dev/kvm ]] || chmod 0666 /dev/kvm
}

# Post-copy migration requires that QEMU on the destination may handle page faults. libvirt's packages set this on hosts, too.
allow_post_copy() {
    if [[ -e /dev/userfaultfd ]]; then
        chown "root:$QEMU_GROUP" /dev/userfaultfd && chmod 0660 /dev/userfaultfd
    else
        echo 1 >/proc/sys/vm/unprivileged_userfaultfd
    fi
}

# host_uuid: prints a UUID that is created once per node, because firmware UUIDs may be missing or not unique.
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
allow_post_copy || true # only post-copy migration depends on it
configure
if [[ -n $TLS || -n $QEMU_TLS ]]; then
    publish_certificates
    follow_certificates &
fi
publish_ceph_secrets write forget
[[ -z $CEPH ]] || follow_ceph_secrets &
forget_lost_taps
follow_logs &

# First in PATH, so that libvirt starts the wrapper /opt/stackwright/qemu-system-x86_64.
export PATH="/opt/stackwright:$PATH"
exec libvirtd --listen --config /etc/libvirt/libvirtd.conf --pid-file /run/libvirt/libvirtd.pid
