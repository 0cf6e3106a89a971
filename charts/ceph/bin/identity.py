"""Identities of the trial Ceph: writes /etc/ceph/ceph.conf and /etc/ceph/keyring.

The cluster's ID and the keys of its daemons are derived from one secret. So each pod can compute them before the
cluster exists, and pods exchange no keys.

    identity.py write NAME...   both files, the keyring with these names; prints "<name> <address>" of each monitor
    identity.py key NAME        prints the key of a name
"""

import base64
import hmac
import os
import socket
import struct
import sys
import uuid
from pathlib import Path

HOME = Path("/etc/ceph")
CONF = Path("/etc/ceph-chart/ceph.conf")
PASSWORD = Path("/run/secrets/ceph-admin/password")
PORT = 3300  # msgr2, the only protocol here

EVERYTHING = {"mon": "allow *", "mgr": "allow *", "osd": "allow *", "mds": "allow *"}
# The monitors read these from the keyring when they create their store.
CAPS = {
    "mon.": {"mon": "allow *"},
    "client.admin": EVERYTHING,
    "client.rgw": {"mon": "allow rw", "osd": "allow rwx", "mgr": "allow rw"},
    "mgr.ceph": {"mon": "allow profile mgr", "osd": "allow *", "mds": "allow *"},
}


def digest(name: str) -> bytes:
    return hmac.digest(PASSWORD.read_bytes().strip(), name.encode(), "sha256")[:16]


def key(name: str) -> str:
    """A key in Ceph's encoding: type AES, creation time, length, the key itself."""
    return base64.b64encode(struct.pack("<HIIH", 1, 0, 0, 16) + digest(name)).decode()


def fsid() -> str:
    return str(uuid.UUID(bytes=digest("fsid"), version=4))


def monitors() -> dict[str, str]:
    """Name → address of its Service, which does not change when the pod is replaced."""
    domain = os.environ["MONITOR_DOMAIN"]
    return {name: socket.gethostbyname(f"{name}.{domain}") for name in os.environ["MONITORS"].split()}


def keyring(names: list[str]) -> str:
    lines = []
    for name in names:
        lines += [f"[{name}]", f"\tkey = {key(name)}"]
        lines += [f'\tcaps {service} = "{caps}"' for service, caps in CAPS[name].items()]
    return "\n".join(lines) + "\n"


def conf(addresses: list[str]) -> str:
    hosts = ",".join(f"{address}:{PORT}" for address in addresses)
    where = f"[global]\nfsid = {fsid()}\nmon_host = {hosts}\nkeyring = {HOME}/keyring\n"
    return CONF.read_text().replace("[global]\n", where, 1)


def write(names: list[str]) -> dict[str, str]:
    found = monitors()
    for name, text in (("ceph.conf", conf(list(found.values()))), ("keyring", keyring(names))):
        new = HOME / f".{name}"
        new.touch(mode=0o600)
        new.write_text(text)
        new.replace(HOME / name)
    return found


def main(action: str, *names: str) -> None:
    if action == "key":
        print(key(names[0]))
        return
    try:
        for name, address in write(list(names)).items():
            print(name, address)
    except OSError as error:
        sys.exit(f"{os.environ['MONITORS']}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
