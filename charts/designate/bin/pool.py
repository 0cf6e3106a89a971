"""Writes the pool to the database by `designate-manage pool update`: the name servers, and how workers reach them.

PowerDNS and Designate want addresses instead of names, so the names of both Services are resolved here.
"""

import json
import os
import socket
import time
from pathlib import Path

import yaml

POOL = Path("/etc/designate/pool.json")
KEY = Path("/run/secrets/powerdns/key")
FILE = Path("/tmp/pools.yaml")  # noqa: S108 - a volume of this pod
ID = "794ccc2c-d751-44fe-b57f-8894c9f5c842"  # of the pool that db-sync creates, Designate's default


def address(name):
    """The address of a Service, which may be created later than this pod."""
    while True:
        try:
            return socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0]
        except OSError as error:
            print(f"Waiting for {name}: {error}", flush=True)
            time.sleep(2)


def pool(told, key):
    where = {"host": address(told["name_server"]), "port": told["port"]}
    target = {
        "type": "pdns4",
        "description": "PowerDNS",
        "masters": [{"host": address(told["mdns"]), "port": told["mdns_port"]}],
        "options": {**where, "api_endpoint": told["api"], "api_token": key},
    }
    return {
        "id": ID,
        "name": "default",
        "description": "The name servers of the cloud",
        "attributes": {},
        "ns_records": [{"hostname": name, "priority": 1 + i} for i, name in enumerate(told["ns_records"])],
        "nameservers": [where],
        "targets": [target],
        "also_notifies": [],
    }


if __name__ == "__main__":
    os.umask(0o077)
    FILE.write_text(yaml.safe_dump([pool(json.loads(POOL.read_text()), KEY.read_text().strip())]))
    os.execvp("designate-manage", ["designate-manage", "pool", "update", "--file", str(FILE)])
