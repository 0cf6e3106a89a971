"""Waits for what a process of Designate needs at its start: the schema, and `locks` and `pool` if they are arguments.

`locks` waits for etcd, `pool` until the Job has written the pool with the present addresses and key. The required version of the
schema is read from the migrations of Designate in this image.
"""

import configparser
import http.client
import json
import socket
import ssl
import sys
import urllib.parse
from pathlib import Path

import schema

FOLDER = Path("/etc/designate")
KEY = Path("/run/secrets/powerdns/key")
TIMEOUT = 5


def etcd_lack(url):
    """Error if etcd has no leader; empty otherwise. Like Tooz, it uses the certificate in the URL."""
    files = dict(urllib.parse.parse_qsl(url.query))
    try:
        context = ssl.create_default_context(cafile=files["ca_cert"])
        context.load_cert_chain(files["cert_cert"], files["cert_key"])
        connection = http.client.HTTPSConnection(url.hostname, url.port, timeout=TIMEOUT, context=context)
        connection.request("GET", "/health")
        answer = connection.getresponse()
        return "" if answer.status == http.client.OK else answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return str(error)


def pool_lack(connection, names):
    """Error if the pool has other addresses than the Services have, in the order of the tables, or another key."""
    try:
        wanted = [socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0] for name in names]
    except OSError as error:
        return f"{', '.join(names)}: {error}"
    found = []
    with schema.connect(connection) as server, server.cursor() as cursor:
        for table in ("pool_target_masters", "pool_nameservers"):
            cursor.execute(f"SELECT host FROM {table}")
            found += [row[0] for row in cursor.fetchall()]
        cursor.execute("SELECT value FROM pool_target_options WHERE `key` = 'api_token'")
        keys = [row[0] for row in cursor.fetchall()]
    if found != wanted:
        return f"the pool has {', '.join(found) or 'no address'} instead of {', '.join(wanted)}"
    return "" if keys == [KEY.read_text().strip()] else "the pool has another key"


def main(parts):
    connection = schema.connection_of(FOLDER / "designate.conf.d", "storage:sqlalchemy")
    schema.wait_for(connection, schema.newest("designate", "storage/sqlalchemy/alembic"))
    conf = configparser.RawConfigParser(strict=False)
    conf.read([FOLDER / "designate.conf", *sorted((FOLDER / "designate.conf.d").glob("*.conf"))])
    locks = urllib.parse.urlsplit(conf.get("coordination", "backend_url", fallback=""))
    if "locks" in parts and locks.scheme == "etcd3+https":
        schema.wait(lambda: etcd_lack(locks), "etcd")
    if "pool" in parts:
        told = json.loads((FOLDER / "pool.json").read_text())
        schema.wait(lambda: pool_lack(connection, (told["mdns"], told["name_server"])), "the pool")


main(sys.argv[1:])
