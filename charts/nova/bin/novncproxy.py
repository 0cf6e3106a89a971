"""Runs Nova's console proxy with a replacement of ssl.wrap_socket for TLS to hypervisors.

This release of Nova uses ssl.wrap_socket, which Python 3.12 removed. The replacement also verifies that the certificate
contains the hypervisor's address, because other services of the cloud have certificates of the same CA.
"""

import socket
import ssl
import sys
from typing import Any

from nova.cmd import novncproxy


def wrap_socket(sock: socket.socket, *, keyfile: str, certfile: str, ca_certs: str, **_other: Any) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(ca_certs)
    context.load_cert_chain(certfile, keyfile)
    return context.wrap_socket(sock, server_hostname=sock.getpeername()[0])


ssl.wrap_socket = wrap_socket  # type: ignore[attr-defined]
sys.argv[0] = "nova-novncproxy"
novncproxy.main()
