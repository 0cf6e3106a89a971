#!/bin/bash
# Starts the broker, with the administrator's account as a configuration snippet: in a file in memory, so that the
# password is in no argument and in no environment. The broker makes the account when its database is empty.
set -eu
umask 077
secret=/run/secrets/rabbitmq-admin
printf 'default_user = %s\ndefault_pass = %s\ndefault_user_tags.administrator = true\n' \
    "$(<$secret/username)" "$(<$secret/password)" >/etc/rabbitmq/conf.d/admin.conf

# The volume's group rights (fsGroup) must not reach the Erlang cookie: Erlang refuses one that others can read.
[[ ! -e $HOME/.erlang.cookie ]] || chmod 0400 "$HOME/.erlang.cookie"

# Not the wrapper in /usr/sbin, which wants a log folder.
exec /usr/lib/rabbitmq/bin/rabbitmq-server
