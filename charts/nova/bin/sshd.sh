#!/bin/bash
# Runs the SSH server for cold migration, which copies disks to another node. All compute nodes of a cloud use the same key as
# host key and as user key.
#
# Environment: ADDRESS (of the node).
set -eu
mkdir -m 0755 -p /run/sshd
umask 077
cat /etc/nova-ssh/ssh >/run/sshd/key
printf 'restrict %s\n' "$(</etc/nova-ssh/ssh.pub)" >/run/sshd/authorized_keys
umask 022 # sessions inherit it: QEMU, with its own user, must be able to open the disks that they write
exec /usr/sbin/sshd -D -e -f /etc/nova/sshd_config -o ListenAddress="$ADDRESS"
