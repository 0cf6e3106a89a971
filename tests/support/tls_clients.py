"""TLS and TCP clients of servers on this machine."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from pathlib import Path

from stackwright.runtime import x509
from support.waiting import PATIENCE

HOST = "webhook"


def contexts(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts of a server with its own certificate, and of a client that accepts any certificate."""
    made, _ = x509.issue(x509.authority("test", time.time()), [HOST], [], time.time())
    for name in ("tls.crt", "tls.key"):
        (folder / name).write_text(made[name])
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    return server, client


async def connected(port: int, address: str) -> socket.socket:
    """A connection from an address of this machine, as soon as a server listens at the port."""
    async with asyncio.timeout(PATIENCE):
        while True:
            made = socket.socket()
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((address, 0))
            try:
                await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", port))
            except ConnectionRefusedError:
                made.close()
                await asyncio.sleep(0.01)
            else:
                return made
