"""Debian's docker-registry with TLS and a password, as a child of this process, for one test.

If the package is not installed, it is downloaded by the machine's own apt and unpacked in the cache: its installation
would start a service.
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
from stackwright.local.image.layout import MANIFEST
from stackwright.local.waiting import wait_for
from stackwright.runtime import x509
from support.registry.memory import PASSWORD, USER

PACKAGE = "docker-registry"
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
        text = self.log.read_text()
        new, self._read = text[self._read :], len(text)
        return [(method, path, int(status)) for method, path, status in _REQUEST.findall(new)]

    def get(self, path: str) -> httpx2.Response:
        tls = httpx2.create_ssl_context()
        tls.load_verify_locations(self.ca)
        with httpx2.Client(verify=tls, auth=(USER, PASSWORD), trust_env=False) as client:
            return client.get(f"https://{self.host}/v2/{path}", headers={"Accept": f"{MANIFEST}, */*"})

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def auth_file(path: Path, host: str, password: str = PASSWORD) -> Path:
    """Write what `podman login` writes."""
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
    command = ["apt-get", "download", PACKAGE]
    try:
        run(command, limit=300, cwd=folder)
    except LocalError:  # package lists may be missing or old
        run(["apt-get", "update"], limit=300)
        run(command, limit=300, cwd=folder)


@contextmanager
def docker_registry(folder: Path) -> Iterator[Server]:
    """Start it on a free port of this machine, with its data in the folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    issuer = x509.authority("registry", time.time())
    made, _ = x509.issue(issuer, ["localhost"], ["127.0.0.1"], time.time())
    for name, content in {**made, "htpasswd": f"{USER}:{_HASH}\n"}.items():
        (folder / name).write_text(content)
    config = {
        "version": "0.1",
        "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {
            "addr": f"127.0.0.1:{port}",
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
    server = Server(f"localhost:{port}", folder / "ca.crt", log, process)

    def unready() -> str | None:
        if process.poll() is not None:
            raise LocalError(f"the test's registry ended:\n{tail(log)}")
        try:
            return None if server.get("").status_code == 200 else "its answer is another one"
        except httpx2.TransportError as error:
            return str(error)

    try:
        wait_for("the test's registry", unready, limit=60, log=log)
        server.requests()
        yield server
    finally:
        server.stop()
