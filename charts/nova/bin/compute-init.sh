#!/bin/bash
# Waits for the hypervisor of this node and writes what is particular to the node: node.conf, a part of Nova's
# configuration, and known_hosts, by which cold migration knows the other nodes.
#
# Environment: NODE_NAME, ADDRESS, INTERFACE (of live migration, may be empty), VCPU_TYPE (may be empty).
set -eu
. /opt/stackwright/migration.sh
hypervisor=/run/libvirt/stackwright-hypervisor.json
boot=$(</proc/sys/kernel/random/boot_id)

# The answer of libvirt's pod, of this boot of the node, and a socket that somebody listens on (flag 00010000).
is_there() {
    grep -qs "$boot" "$hypervisor" && grep -q ' 00010000 .*/libvirt/libvirt-sock$' /proc/net/unix
}

until is_there; do
    [[ ${said:-} ]] || echo "Waiting for libvirt on this node"
    said=yes
    sleep 1
done
virt_type=$(sed -n 's/.*"virt_type": "\([a-z]*\)".*/\1/p' "$hypervisor")

# KVM gives what the node's processors have, unless a type is asked for; emulation is fastest with its own.
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
