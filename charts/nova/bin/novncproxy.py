"""Nova's proxy of consoles, with the TLS that it speaks with hypervisors made whole.

Nova of this release wraps its connections with a function that Python gave up in 3.12. The one here also holds the
hypervisor to the address it was reached at: any other service of the cloud has a certificate of the same authority.
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
