#!/bin/bash
# Runs the gateway. Keystone's URL and user name come from mounted files; the password is read from its file, never copied.
. /opt/stackwright/lib.sh
KEYSTONE=/run/secrets/keystone

keystone() {
    [[ -e $KEYSTONE/auth_url ]] || return 0
    local url
    url=$(<$KEYSTONE/auth_url)
    printf '[client.rgw]\nrgw_keystone_url = %s\nrgw_keystone_admin_user = %s\nrgw_keystone_admin_password_path = %s\n' \
        "${url%/v3*}" "$(<$KEYSTONE/username)" $KEYSTONE/password
}

prepare() {
    identify client.rgw || return 1
    keystone >>/etc/ceph/ceph.conf
    daemon=(radosgw -f -n client.rgw --rgw-frontends "beast port=$RGW_PORT")
}

supervise
