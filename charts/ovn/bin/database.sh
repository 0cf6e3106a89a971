#!/bin/bash
# Runs ovsdb-server with one of OVN's databases: database.sh nb|sb. /etc/ovn/<nb|sb>.json contains its listening addresses.
set -u
. /opt/stackwright/lib.sh
DB=/var/lib/ovn/ovn$1_db.db
SCHEMA=/usr/share/ovn/ovn-$1.ovsschema

if [[ ! -e $DB ]]; then
    rm -f $DB.new
    ovsdb-tool create $DB.new "$SCHEMA" && mv $DB.new $DB || fail "cannot make the database $DB"
elif [[ $(ovsdb-tool needs-conversion $DB "$SCHEMA") == yes ]]; then
    say "the database is brought to this version's schema"
    ovsdb-tool convert $DB "$SCHEMA" || fail "cannot convert the database $DB"
fi
# ovsdb-server opens its configuration for writing, too, which the ConfigMap does not permit.
CONF=/tmp/$1.json
cat "/etc/ovn/$1.json" >$CONF || fail "cannot write $CONF"
exec ovsdb-server --config-file=$CONF --unixctl=/tmp/ovsdb-server.ctl -vconsole:info -vsyslog:off -vfile:off
