"""A registry in memory behind a socket of this machine, by HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2

from support.registry.memory import MemoryRegistry


@contextmanager
def served(registry: MemoryRegistry, largest: int | None = None) -> Iterator[str]:
    """Yield host and port. largest  bytes of a chunk; a larger one is refused unread, and the connection ends"""
    transport = registry.transport()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            if self.command == "PATCH" and largest is not None and length > largest:
                self.close_connection = True
                self.send_response(416)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            url = f"http://{self.headers['Host']}{self.path}"
            body = self.rfile.read(length)
            given = transport.handle_request(
                httpx2.Request(self.command, url, headers=dict(self.headers), content=body)
            )
            content = given.read()
            self.send_response(given.status_code)
            for name, value in given.headers.items():
                if name != "content-length" or self.command == "HEAD":
                    self.send_header(name, value)
            if self.command != "HEAD" and given.status_code != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_HEAD = do_POST = do_PATCH = do_PUT = answer

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
