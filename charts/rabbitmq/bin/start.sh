#!/bin/bash
# Starts the broker. The administrator's account is in a configuration file in memory, so that no argument and no environment
# variable contains the password. The broker creates the account if its database is empty.
set -eu
umask 077
secret=/run/secrets/rabbitmq-admin
printf 'default_user = %s\ndefault_pass = %s\ndefault_user_tags.administrator = true\n' \
    "$(<$secret/username)" "$(<$secret/password)" >/etc/rabbitmq/conf.d/admin.conf

# Remove the group permissions that fsGroup sets on the Erlang cookie: Erlang refuses a cookie that others can read.
[[ ! -e $HOME/.erlang.cookie ]] || chmod 0400 "$HOME/.erlang.cookie"

# Not the wrapper in /usr/sbin, which requires a log folder.
exec /usr/lib/rabbitmq/bin/rabbitmq-server
