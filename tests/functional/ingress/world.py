"""The world of the ingress: pods (an HTTP server of this process), objects that refer to them, and clients."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import http.server
import json
import os
import select
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from stackwright.local import tools
from stackwright.runtime import x509
from support.paths import GOLDEN

RENDERED = GOLDEN / "charts/ingress/default/rendered.yaml"
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
LIMIT = 10.0


class Pod(http.server.BaseHTTPRequestHandler):
    """Returns the requests that reached it; discards uploads; echoes over a WebSocket's connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.headers.get("Upgrade") != "websocket":
            headers = {name.lower(): value for name, value in self.headers.items()}
            return self._answer({"path": self.path, "headers": headers})
        key = base64.b64encode(hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + GUID).digest())
        self.send_response(101)
        for name, value in (
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", key.decode()),
        ):
            self.send_header(name, value)
        self.end_headers()
        while data := self.connection.recv(4096):
            self.connection.sendall(data)
        self.close_connection = True
        return None

    def do_PUT(self) -> None:
        left = int(self.headers["Content-Length"])
        seen = hashlib.sha256()
        while left > 0 and (piece := self.rfile.read(min(left, 1 << 20))):
            seen.update(piece)
            left -= len(piece)
        self._answer({"sha256": seen.hexdigest()})

    def _answer(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


def own_address() -> str:
    """An address of this machine that may be in an EndpointSlice; loopback may not. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 9))
        return str(one.getsockname()[0])


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]


@dataclass
class World:
    """A namespace, the ingress that serves it, and a CA that clients trust."""

    admin: Path
    namespace: str
    folder: Path
    process: subprocess.Popen[bytes]
    http: int
    https: int
    health: int
    authority: dict[str, str]

    def kubectl(self, *args: str, stdin: str = "") -> str:
        return kubectl(self.admin, self.namespace, *args, stdin=stdin)

    def apply(self, *objects: dict[str, Any]) -> None:
        self.kubectl("apply", "-f-", stdin=yaml.safe_dump_all(objects))

    def certificate(self, secret: str, *names: str) -> str:
        """A Secret for these names; the PEM of its certificate."""
        made, _ = x509.issue(self.authority, names, (), time.time())
        data = {"tls.crt": made["tls.crt"], "tls.key": made["tls.key"]}
        metadata = {"name": secret}
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "kubernetes.io/tls",
                "metadata": metadata,
                "stringData": data,
            }
        )
        return made["tls.crt"]

    def connect(self, host: str) -> ssl.SSLSocket:
        context = ssl.create_default_context(cadata=self.authority["ca.crt"])
        plain = socket.create_connection(("127.0.0.1", self.https), LIMIT)
        try:
            return context.wrap_socket(plain, server_hostname=host)
        except OSError:
            plain.close()
            raise

    def request(
        self, method: str, host: str, path: str, *, tls: bool = True, **more: Any
    ) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=60)
        if tls:
            connection.sock = self.connect(host)
        with contextlib.closing(connection):
            headers = {"Host": host, **more.pop("headers", {})}
            connection.request(method, path, headers=headers, **more)
            answer = connection.getresponse()
            return answer.status, dict(answer.headers), answer.read().decode()

    def get(self, host: str, path: str = "/", **more: Any) -> tuple[int, dict[str, str], str]:
        return self.request("GET", host, path, **more)

    def memory(self) -> float:
        """Peak memory of the ingress, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024

    def until(self, what: Callable[[], bool], limit: float = LIMIT) -> float:
        """Wait for a condition. Returns the duration."""
        begun = time.monotonic()
        while not what():
            assert time.monotonic() - begun < limit, (self.folder / "ingress.log").read_text()[-3000:]
            time.sleep(0.05)
        return time.monotonic() - begun

    def says(self, host: str, status: int, path: str = "/") -> Callable[[], bool]:
        def look() -> bool:
            try:
                return self.get(host, path)[0] == status
            except OSError:
                return False

        return look


def kubectl(admin: Path, namespace: str, *args: str, stdin: str = "") -> str:
    command = [tools.binary("kubectl"), f"--kubeconfig={admin}", f"--namespace={namespace}", *args]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ingress(
    host: str, service: str, *, name: str = "", secret: str = "openstack-public-tls", **spec: Any
) -> dict[str, Any]:
    backend = {"service": {"name": service, "port": {"name": "api"}}}
    made = {
        "ingressClassName": "openstack-ingress",
        "rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}],
        "tls": [{"hosts": [host], "secretName": secret}],
    }
    metadata = {"name": name or host.split(".")[0]}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": made | spec}


def service(name: str, *, port: int, ready: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    """A Service whose pod is on `port` of this machine. No controller creates EndpointSlices here, so this function
    does.
    """
    ports = [{"name": "api", "port": 80, "targetPort": port}]
    metadata = {"name": name}
    slice_ = {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": f"{name}-{port}", "labels": {"kubernetes.io/service-name": name}},
        "ports": [{"name": "api", "port": port, "protocol": "TCP"}],
        "endpoints": [{"addresses": [own_address()], "conditions": {"ready": ready}}],
    }  # fmt: skip
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}, slice_


def permitted(admin: Path, namespace: str, folder: Path) -> Path:
    """A kubeconfig with the rights of the chart, and no other."""
    wanted = ("ServiceAccount", "Role", "RoleBinding")
    found = [item for item in yaml.safe_load_all(RENDERED.read_text()) if item["kind"] in wanted]
    text = yaml.safe_dump_all(found).replace("namespace: openstack\n", f"namespace: {namespace}\n")
    kubectl(admin, namespace, "apply", "-f-", stdin=text)
    config = yaml.safe_load(admin.read_text())
    token = kubectl(admin, namespace, "create", "token", "ingress-controller").strip()
    config["users"][0]["user"] = {"token": token}
    path = folder / "ingress.kubeconfig"
    path.write_text(json.dumps(config))
    return path


@contextlib.contextmanager
def pod() -> Iterator[int]:
    """The port of a running server."""
    server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), Pod)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@contextlib.contextmanager
def running(admin: Path, namespace: str, folder: Path) -> Iterator[World]:
    program = tools.binary("ingress")
    assert program.exists(), "the ingress is not built; run `stackwright up --bare` once"
    kubectl(admin, namespace, "create", "namespace", namespace)
    config = permitted(admin, namespace, folder)
    ports = free_ports(3)
    flags = [f"-{name}=127.0.0.1:{port}" for name, port in zip(("http", "https", "health"), ports, strict=True)]
    flags += [f"-kubeconfig={config}", f"-namespace={namespace}", f"-https-port={ports[1]}"]
    with (folder / "ingress.log").open("wb") as log:
        process = subprocess.Popen(
            [program, "-tls-secrets=openstack-public-tls", *flags],
            stdout=log,
            stderr=log,
            env={**os.environ, "GOMEMLIMIT": "192MiB"},
        )
    world = World(admin, namespace, folder, process, *ports, x509.authority("test", time.time()))
    try:
        yield world
    finally:
        process.kill()
        process.wait()
        kubectl(admin, namespace, "delete", "namespace", namespace, "--wait=false")


def readable(sock: socket.socket) -> bool:
    return bool(select.select([sock], [], [], LIMIT)[0])
