#!/bin/bash
# Waits for the hypervisor of this node and writes what is particular to the node: node.conf, a part of Nova's
# configuration, and known_hosts, by which cold migration knows the other nodes.
#
# Environment: NODE_NAME, ADDRESS, INTERFACE (of live migration, may be empty), VCPU_TYPE (may be empty).
set -eu
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

# migration_address: of INTERFACE, where live migrations come in; without one, the node's own ADDRESS. Where Open vSwitch
# runs in user space and took the interface for tunnels, its bridge has the address.
migration_address() {
    local found place
    [[ -n $INTERFACE ]] || { echo "$ADDRESS"; return; }
    for _ in {1..30}; do
        for place in "$INTERFACE" br-tunnel-phy; do
            found=$(ip -oneline -4 address show dev "$place" scope global 2>/dev/null |
                sed -n 's/.* inet \([0-9.]*\).*/\1/p' | head -1)
            [[ -z $found ]] || { echo "$found"; return; }
        done
        [[ -e /sys/class/net/$INTERFACE ]] || break
        sleep 1 # it is being moved from one to the other
    done
    echo "Interface $INTERFACE (live_migration_interface) has no IPv4 address on node $NODE_NAME" | tee /dev/termination-log >&2
    return 1
}

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
