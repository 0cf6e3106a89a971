#!/bin/bash
# The server for cold migration, which copies disks to the other node. One key is for all nodes, to know and to be known by:
# whoever has it is a compute node of this cloud.
#
# Environment: ADDRESS (of the node).
set -eu
mkdir -m 0755 -p /run/sshd
umask 077
cat /etc/nova-ssh/ssh >/run/sshd/key
printf 'restrict %s\n' "$(</etc/nova-ssh/ssh.pub)" >/run/sshd/authorized_keys
umask 022 # of the sessions too: QEMU, which has a user of its own, opens the disks that they write
exec /usr/sbin/sshd -D -e -f /etc/nova/sshd_config -o ListenAddress="$ADDRESS"
