#!/bin/bash
# start.sh: starts PowerDNS with the options in Secrets, when its database answers. PowerDNS ends when it cannot read its
# database, so it is this script that waits, and after a minute tells Kubernetes why.
set -eu
umask 077
for file in /run/secrets/powerdns/*; do
    echo "${file##*/}=$(<"$file")"
done >/run/powerdns/secrets.conf

end() {
    echo "$1" | tee /dev/termination-log >&2
    exit 1
}

# The server from which it gets zones may have had another address when they were created. PowerDNS resolves no names.
address=$(getent hosts "$MDNS" | { read -r first _ && echo "$first"; }) || end "$MDNS has no address"
[[ $address != *:* ]] || address="[$address]"
until said=$(pdnsutil backend-cmd gmysql "UPDATE domains SET master = '$address:$MDNS_PORT' WHERE type = 'SLAVE'" 2>&1); do
    ((SECONDS < 60)) || end "PowerDNS waits for its database: …$(tail -n 1 <<<"$said" | tail -c 150)"
    sleep 2
done
exec pdns_server
