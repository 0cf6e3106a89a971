"""Runs in a pod on each node, by `python3 -c`, with the standard library only; writes one JSON object.

The pod has no privilege: sysfs shows the kernel of the node, and an emptyDir is on the disk of the kubelet.
Arguments: the file for the report, a folder on the disk of the kubelet, a name in the cluster's DNS.
"""

import email.utils
import http.client
import json
import os
import socket
import ssl
import sys
import time
from collections.abc import Callable
from pathlib import Path

LIMIT = 5.0  # seconds; timeout of a request
LONGEST = 200  # characters of an error


def domain(resolv: str) -> str:
    """The DNS domain of the cluster, from the search list of the pod; empty if it has none."""
    words = [line.split()[1:] for line in resolv.splitlines() if line.startswith("search")]
    return next((name[4:] for names in words for name in names if name.startswith("svc.")), "")


def skew() -> float:
    """Seconds by which the node's clock is ahead of the API server's, within a second.

    Only the header Date of a response is used, so neither a token nor a certificate is needed.
    """
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
    context = ssl._create_unverified_context()  # noqa: S323
    connection = http.client.HTTPSConnection(host, port, timeout=LIMIT, context=context)
    before = time.time()
    connection.request("HEAD", "/version")
    date = connection.getresponse().getheader("Date", "") or ""
    middle = (before + time.time()) / 2
    # The header has whole seconds, so adding half a second gives the least error.
    return round(middle - email.utils.parsedate_to_datetime(date).timestamp() - 0.5, 1)


def hugepages(folder: Path) -> int:
    """Bytes of all huge pages of the node."""
    sizes = {path: int(path.name.removeprefix("hugepages-").removesuffix("kB")) for path in folder.glob("hugepages-*")}
    return sum(int((path / "nr_hugepages").read_text()) * size for path, size in sizes.items()) << 10


def report(folder: str, name: str, root: Path = Path("/")) -> dict[str, object]:
    """The report; `root` is the root of the filesystem."""
    found: dict[str, object] = {}
    learned: dict[str, Callable[[], object]] = {
        "disk": lambda: os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize,
        "cgroup": lambda: 2 if (root / "sys/fs/cgroup/cgroup.controllers").exists() else 1,
        "kernel": lambda: [
            *(each for each in ("openvswitch",) if (root / "sys/module" / each).exists()),
            *(each for each in ("kvm", "tun") if (root / "sys/class/misc" / each).exists()),
        ],
        "hugepages": lambda: hugepages(root / "sys/kernel/mm/hugepages"),
        "domain": lambda: domain((root / "etc/resolv.conf").read_text()),
        "address": lambda: socket.getaddrinfo(name, 443)[0][4][0],
        "skew": skew,
    }
    errors = found["errors"] = {}
    for what, learn in learned.items():
        try:
            found[what] = learn()
        except Exception as error:
            errors[what] = f"{type(error).__name__}: {error}"[:LONGEST]
    return found


if __name__ == "__main__":
    _, output, folder, name = sys.argv
    Path(output).write_text(json.dumps(report(folder, name)))
