#!/bin/bash
# The server for cold migration, which copies disks to the other node. One key is for all nodes, to know and to be known by:
# whoever has it is a compute node of this cloud.
#
# Environment: ADDRESS (of the node).
set -eu
umask 077
mkdir -m 0755 -p /run/sshd
cat /etc/nova-ssh/ssh >/run/sshd/key
printf 'restrict %s\n' "$(</etc/nova-ssh/ssh.pub)" >/run/sshd/authorized_keys
exec /usr/sbin/sshd -D -e -f /etc/nova/sshd_config -o ListenAddress="$ADDRESS"
