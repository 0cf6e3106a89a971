"""Waits for what a Cinder process needs at its start: the schema, and `locks` and `ceph` if they are arguments.

`locks` waits only if the lock back end is etcd, `ceph` only if ceph.conf exists. The required version of the schema is
read from the migrations of Cinder in this image.
"""

import configparser
import http.client
import socket
import ssl
import sys
import urllib.parse
from pathlib import Path

import schema

SNIPPETS = Path("/etc/cinder/cinder.conf.d")
CEPH = Path("/etc/ceph/ceph.conf")
TIMEOUT = 5


def etcd_lack(url: urllib.parse.SplitResult) -> str:
    """Error if etcd has no leader; empty otherwise. Like Tooz, it uses the certificate in the URL."""
    files = dict(urllib.parse.parse_qsl(url.query))
    host, port = url.hostname or "localhost", url.port or 2379
    try:
        if url.scheme.endswith("https"):
            context = ssl.create_default_context(cafile=files.get("ca_cert"))
            if "cert_cert" in files:
                context.load_cert_chain(files["cert_cert"], files.get("cert_key"))
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, port, timeout=TIMEOUT, context=context
            )
        else:
            connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT)
        connection.request("GET", "/health")
        answer = connection.getresponse()
        return "" if answer.status == http.client.OK else answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return str(error)


def ceph_lack() -> str:
    """Error if no monitor accepts connections; empty otherwise."""
    conf = configparser.RawConfigParser(strict=False)
    conf.read(CEPH)
    cause = "no monitors are known"
    for monitor in conf.get("global", "mon_host", fallback="").split(","):
        host, _, port = monitor.strip().rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), TIMEOUT).close()
            return ""
        except (OSError, ValueError) as error:
            cause = f"{monitor}: {error}"
    return cause


def main(parts: list[str]) -> None:
    schema.wait_for(schema.connection_of(SNIPPETS), schema.newest("cinder"))
    conf = configparser.RawConfigParser(strict=False)
    conf.read([Path("/etc/cinder/cinder.conf"), *sorted(SNIPPETS.glob("*.conf"))])
    locks = urllib.parse.urlsplit(conf.get("coordination", "backend_url", fallback=""))
    if "locks" in parts and locks.scheme.startswith("etcd3"):
        schema.wait(lambda: etcd_lack(locks), "etcd")
    if "ceph" in parts and CEPH.exists():
        schema.wait(ceph_lack, "Ceph")


main(sys.argv[1:])
