"""Writes the pool to the database by `designate-manage pool update`: the name servers, and how workers reach them.

PowerDNS wants the address of the server from which it gets zones, so the name of the Service is resolved here.
"""

import json
import os
import socket
import sys
from pathlib import Path

import yaml

POOL = Path("/etc/designate/pool.json")
KEY = Path("/run/secrets/powerdns/key")
FILE = Path("/tmp/pools.yaml")  # noqa: S108 - a volume of this pod
ID = "794ccc2c-d751-44fe-b57f-8894c9f5c842"  # of the pool that db-sync creates, Designate's default


def address(name):
    return socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0]


def pool(told, key, master):
    where = {"host": told["name_server"], "port": told["port"]}
    target = {
        "type": "pdns4",
        "description": "PowerDNS",
        "masters": [{"host": master, "port": told["mdns_port"]}],
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
    told = json.loads(POOL.read_text())
    os.umask(0o077)
    FILE.write_text(yaml.safe_dump([pool(told, KEY.read_text().strip(), address(told["mdns"]))]))
    sys.stdout.flush()
    os.execvp("designate-manage", ["designate-manage", "pool", "update", "--file", str(FILE)])
