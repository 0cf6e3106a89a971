"""The bring-up's own client, against a server with a certificate of the cluster."""

from __future__ import annotations

import http.server
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stackwright.local.kubernetes import pki
from stackwright.local.kubernetes.api import Api
from stackwright.local.kubernetes.identities import ADMIN

SERVER = pki.Identity("apiserver", "kubernetes", hosts=("127.0.0.1",))


class _Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Port of a server that accepts clients with a certificate of this CA."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "ca.crt"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(folder / "apiserver.crt", folder / "apiserver.key")
    server = http.server.HTTPServer(("127.0.0.1", 0), _Answer)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_a_process_follows_a_recreated_cluster(tmp_path: Path) -> None:
    for _ in range(2):
        for file in tmp_path.iterdir():
            file.unlink()
        pki.ensure_authority(tmp_path, "ca")
        for identity in (ADMIN, SERVER):
            pki.ensure_identity(tmp_path, identity)
        with serving(tmp_path) as port:
            assert Api(tmp_path, "127.0.0.1", port).request("GET", "/api") == (200, {})
