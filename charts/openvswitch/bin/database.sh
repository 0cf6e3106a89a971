#!/bin/bash
# Runs ovsdb-server. The database is in /run and deleted by a reboot, because libvirt and the agents create their ports again
# after it, and outdated ports would conflict with them.
set -u
. /opt/stackwright/lib.sh
SCHEMA=/usr/share/openvswitch/vswitch.ovsschema

mkdir -p $RUN
if [[ -e $DB ]] && ! ovsdb-tool db-version $DB >/dev/null; then
    say "the database cannot be read; it is put aside as conf.db.bad"
    mv -f $DB $DB.bad
fi
if [[ ! -e $DB ]]; then
    rm -f $DB.new
    ovsdb-tool create $DB.new $SCHEMA && mv $DB.new $DB || fail "cannot make the database $DB on $NODE_NAME"
elif [[ $(ovsdb-tool needs-conversion $DB $SCHEMA) == yes ]]; then
    say "the database is brought to this version's schema"
    ovsdb-tool convert $DB $SCHEMA || fail "cannot convert the database $DB on $NODE_NAME"
fi
exec ovsdb-server $DB --remote="punix:$SOCKET" --unixctl=$RUN/ovsdb-server.ctl --pidfile=$RUN/ovsdb-server.pid \
    -vconsole:info -vsyslog:off -vfile:off
