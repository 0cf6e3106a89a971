"""An API server on this machine that answers as a handler says, and a kubeconfig for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.unit.adapters.kubernetes.test_login import configured


class Handler(BaseHTTPRequestHandler):
    """Logs nothing."""

    def log_message(self, *_: Any) -> None: ...

    def reply(self, code: int, text: bytes) -> None:
        self.send_response(code)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@contextmanager
def serving(handler: type[Handler], folder: Path) -> Iterator[Path]:
    """The kubeconfig, while the server runs."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    path = configured(folder, {})
    config = json.loads(path.read_text())
    config["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{http.server_port}"
    path.write_text(json.dumps(config))
    yield path
    http.shutdown()
    http.server_close()
