"""The real network of this machine: ICMP, TCP, the system's ssh, and HTTPS verified with the cloud's CA certificate."""

from __future__ import annotations

import base64
import http.client
import os
import socket
import ssl
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from stackwright.core.openstack.deployed.access import BAD_CA
from stackwright.smoke.icmp import PATIENCE, ping
from stackwright.smoke.ports import Failed, Login

SSH_LIMIT = 60
# Each new machine creates a new host key, so none is known; and ~/.ssh must not be changed.
SSH_OPTIONS = (
    "BatchMode=yes",
    "IdentitiesOnly=yes",
    "StrictHostKeyChecking=no",
    "UserKnownHostsFile=/dev/null",
    "GlobalKnownHostsFile=/dev/null",
    "LogLevel=ERROR",
    "ConnectTimeout=10",
)


def ssh_command(login: Login) -> list[str]:
    options = [word for option in SSH_OPTIONS for word in ("-o", option)]
    return ["ssh", "-F", "none", *options, "-i", str(login.key), f"{login.user}@{login.address}"]


class RealHost:
    """`ca`: file with the CA certificate of the cloud's public endpoints."""

    def __init__(self, ca: Path) -> None:
        try:
            self._tls = ssl.create_default_context(cafile=str(ca))
        except ssl.SSLError:
            raise Failed(BAD_CA) from None

    def ping(self, address: str) -> bool:
        return ping(address)

    def open(self, address: str, port: int) -> bool:
        try:
            with socket.create_connection((address, port), timeout=PATIENCE):
                return True
        except OSError:
            return False

    def ssh(self, login: Login, command: str) -> str:
        words = [*ssh_command(login), command]
        try:
            done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=SSH_LIMIT)
        except FileNotFoundError:
            raise Failed("ssh is not installed; on Debian it is in the package openssh-client") from None
        except subprocess.TimeoutExpired:
            raise Failed(f"`ssh {login.user}@{login.address} {command}` was not finished after {SSH_LIMIT} s") from None
        if done.returncode != 0:
            raise Failed(f"ssh {login.user}@{login.address}: {done.stderr.strip() or f'exit code {done.returncode}'}")
        return done.stdout

    def page(self, url: str) -> int:
        parts = urlsplit(url)
        connection = http.client.HTTPSConnection(parts.netloc, timeout=10, context=self._tls)
        try:
            connection.request("GET", f"{parts.path}?{parts.query}")
            return connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"{parts.scheme}://{parts.netloc}{parts.path}: {error}") from error
        finally:
            connection.close()

    def websocket(self, url: str) -> bytes:
        parts = urlsplit(url)
        where = f"wss://{parts.netloc}"  # without the path, which contains a token
        try:
            with (
                socket.create_connection((str(parts.hostname), parts.port or 443), timeout=10) as plain,
                self._tls.wrap_socket(plain, server_hostname=parts.hostname) as tls,
            ):
                tls.sendall(_handshake(parts.netloc, f"{parts.path or '/'}?{parts.query}"))
                return _first_message(tls, where)
        except OSError as error:
            raise Failed(f"{where}: {error}") from error


def _handshake(host: str, target: str) -> bytes:
    """The request of a browser, with the Origin header, which the proxy checks."""
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {target} HTTP/1.1",
        f"Host: {host}",
        f"Origin: https://{host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: binary",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _first_message(stream: socket.socket, where: str) -> bytes:
    """Content of the first frame after the handshake. Frames from a server are not masked."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(stream, where)
    head, _, rest = data.partition(b"\r\n\r\n")
    answer = head.split(b"\r\n")[0].decode(errors="replace")
    if " 101 " not in f"{answer} ":
        raise Failed(f"{where}: no WebSocket handshake: {answer}")
    while len(rest) < 2 or len(rest) < 2 + (rest[1] & 0x7F):
        rest += _more(stream, where)
    return rest[2 : 2 + (rest[1] & 0x7F)]


def _more(stream: socket.socket, where: str) -> bytes:
    data = stream.recv(4096)
    if not data:
        raise Failed(f"{where}: the connection was closed before any data")
    return data
