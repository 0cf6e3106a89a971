#!/bin/bash
# Waits for the hypervisor of this node, then writes node.conf, the node's part of Nova's configuration, and known_hosts, with
# the host key of the other nodes for cold migration.
#
# Environment: NODE_NAME, ADDRESS, INTERFACE (for live migration, may be empty), VCPU_TYPE (may be empty).
set -eu
. /opt/stackwright/migration.sh
hypervisor=/run/libvirt/stackwright-hypervisor.json
boot=$(</proc/sys/kernel/random/boot_id)

# Whether libvirt's pod has written the KVM result since the node's boot, and a process listens on its socket (flag 00010000).
is_there() {
    grep -qs "$boot" "$hypervisor" && grep -q ' 00010000 .*/libvirt/libvirt-sock$' /proc/net/unix
}

until is_there; do
    [[ ${said:-} ]] || echo "Waiting for libvirt on this node"
    said=yes
    sleep 1
done
virt_type=$(sed -n 's/.*"virt_type": "\([a-z]*\)".*/\1/p' "$hypervisor")

# Prints the CPU options. Without VCPU_TYPE, KVM uses the CPU model of the node, and emulation its own, which is fastest.
processor() {
    case "${VCPU_TYPE:-$virt_type}" in
    host-model | host-passthrough) echo "cpu_mode = $VCPU_TYPE" ;;
    kvm) echo "cpu_mode = host-model" ;;
    qemu) echo "cpu_mode = none" ;;
    *) printf 'cpu_mode = custom\ncpu_models = %s\n' "$VCPU_TYPE" ;;
    esac
}

inbound=$(migration_address)
cat >/etc/nova/node.d/node.conf <<END
[DEFAULT]
host = $NODE_NAME
my_ip = $ADDRESS

[libvirt]
virt_type = $virt_type
$(processor)
live_migration_inbound_addr = $inbound

[vnc]
server_listen = $ADDRESS
server_proxyclient_address = $ADDRESS
END
printf '[*]:8022 %s\n' "$(</etc/nova-ssh/ssh.pub)" >/etc/nova/node.d/known_hosts
mkdir -p /var/lib/nova/instances
