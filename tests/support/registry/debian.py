"""Debian's docker-registry with TLS and a password, as a child of this process, for one test.

If the package is not installed, the machine's own apt downloads it to the cache, where it is unpacked: an installation
would start a service. Apt uses the lists of the machine, or new ones in a folder of the test, without apt's locks.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import yaml

from stackwright.local.commands import LocalError, bound, run, tail
from stackwright.local.config import LocalCluster
from stackwright.local.image.published.oci import INDEX, MANIFEST
from stackwright.local.waiting import wait_for
from stackwright.runtime import x509
from support.registry.memory import PASSWORD, USER

PACKAGE = "docker-registry"
_ATTEMPTS = 3
_QUIET = 1  # seconds without a request
_HASH = "$2y$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2"  # bcrypt of PASSWORD
_REQUEST = re.compile(r'"([A-Z]+) (/v2/\S*) HTTP/[\d.]+" (\d+)')


@dataclass
class Server:
    """host  with the port. ca  the CA of its certificate"""

    host: str
    ca: Path
    log: Path
    process: subprocess.Popen[bytes]
    _read: int = 0

    def requests(self) -> list[tuple[str, str, int]]:
        """Method, path with query, and status of the requests since the last call."""
        self._settle()
        text = self.log.read_text()
        new, self._read = text[self._read :], len(text)
        return [(method, path, int(status)) for method, path, status in _REQUEST.findall(new)]

    def _settle(self) -> None:
        """Wait for the requests in progress, which are logged when they end."""
        size, since = -1, time.monotonic()
        while time.monotonic() - since < _QUIET and self.process.poll() is None:
            if (now := self.log.stat().st_size) != size:
                size, since = now, time.monotonic()
            time.sleep(0.1)

    def get(self, path: str, limit: float = 60) -> httpx2.Response:
        tls = httpx2.create_ssl_context()
        tls.load_verify_locations(self.ca)
        with httpx2.Client(verify=tls, auth=(USER, PASSWORD), trust_env=False, timeout=limit) as client:
            return client.get(f"https://{self.host}/v2/{path}", headers={"Accept": f"{MANIFEST}, {INDEX}, */*"})

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def auth_file(path: Path, host: str, password: str = PASSWORD) -> Path:
    """Write the file that `podman login` writes."""
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    path.write_text(json.dumps({"auths": {host: {"auth": auth}}}))
    return path


def program(cluster: LocalCluster | None = None) -> Path:
    """The installed program, or that of the package in the cache, which is downloaded once."""
    if installed := shutil.which(PACKAGE):
        return Path(installed)
    tools = (cluster or LocalCluster.discover()).cache / "tools"
    place = tools / f"debian-{PACKAGE}"
    if not place.is_dir():
        tools.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".debian-", dir=tools) as scratch:
            _download(Path(scratch))
            (package,) = Path(scratch).glob("*.deb")
            run(["dpkg-deb", "--extract", package, Path(scratch, "unpacked")])
            if not place.is_dir():
                Path(scratch, "unpacked").rename(place)
    return place / "usr/bin" / PACKAGE


def _download(folder: Path) -> None:
    """Download the package, with new lists if those of the machine are missing or old, and again after a failure."""
    own = ["-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"]
    retried = ["-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3"]
    (folder / "lists/partial").mkdir(parents=True)
    (folder / "cache/archives/partial").mkdir(parents=True)
    for attempt in range(_ATTEMPTS):
        try:
            if attempt > 0:
                run(["apt-get", *own, *retried, "update"], limit=300)
            run(["apt-get", *(own if attempt > 0 else []), *retried, "download", PACKAGE], limit=300, cwd=folder)
            return
        except LocalError:
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(attempt * 5)


@contextmanager
def docker_registry(folder: Path, address: str = "127.0.0.1") -> Iterator[Server]:
    """Start it on a free port of this machine, with its data in the folder."""
    issuer = x509.authority("registry", time.time())
    made, _ = x509.issue(issuer, ["localhost"], [address], time.time())
    for name, content in {**made, "htpasswd": f"{USER}:{_HASH}\n"}.items():
        (folder / name).write_text(content)
    server = _started(folder, address)
    try:
        server.requests()
        yield server
    finally:
        server.stop()


def _started(folder: Path, address: str) -> Server:
    """Start it, on another port if a process of the machine takes its port first."""
    for attempt in range(1, _ATTEMPTS + 1):
        server = _serve(folder, address)

        def unready(server: Server = server) -> str | None:
            if server.process.poll() is not None:
                raise LocalError(f"the test's registry ended:\n{tail(server.log)}")
            try:
                return None if server.get("", limit=5).status_code == 200 else "its answer is another one"
            except httpx2.TransportError as error:
                return str(error)

        try:
            wait_for("the test's registry", unready, limit=60, log=server.log)
            return server
        except BaseException:
            server.stop()
            if attempt == _ATTEMPTS or "address already in use" not in server.log.read_text():
                raise
    raise AssertionError("unreachable")


def _serve(folder: Path, address: str) -> Server:
    port = _free_port(address)
    config = {
        "version": "0.1",
        "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {
            "addr": f"{address}:{port}",
            "tls": {"certificate": str(folder / "tls.crt"), "key": str(folder / "tls.key")},
        },
        "auth": {"htpasswd": {"realm": "registry", "path": str(folder / "htpasswd")}},
    }
    (folder / "config.yml").write_text(yaml.safe_dump(config))
    log = folder / "registry.log"
    with log.open("wb") as output:
        command = bound([program(), "serve", folder / "config.yml"])
        environ = {name: text for name, text in os.environ.items() if not name.startswith("REGISTRY_")}
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environ)
    host = "localhost" if address == "127.0.0.1" else address
    return Server(f"{host}:{port}", folder / "ca.crt", log, process)


def _free_port(address: str) -> int:
    with socket.socket() as free:
        free.bind((address, 0))
        port: int = free.getsockname()[1]
        return port
