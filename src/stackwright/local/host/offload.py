"""Switch off the offloads of a network link (as `ethtool -K` does) for programs that read raw frames.

On a virtual link the kernel omits checksums and merges segments, since no frame can be damaged on the way. Open vSwitch
in user space reads such frames unchanged, so both ends of its links need complete frames.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

SIOCETHTOOL = 0x8946
# Command numbers of <linux/ethtool.h>: to set the feature, and to read it.
FEATURES = {"tx-checksum": (0x17, 0x16), "tso": (0x1F, 0x1E), "gso": (0x24, 0x23), "gro": (0x2C, 0x2B)}


def switch_off(link: str) -> None:
    for number, _ in FEATURES.values():
        _ask(link, number)


def active(link: str) -> list[str]:
    """Names of the offloads that are on."""
    return [name for name, (_, number) in FEATURES.items() if _ask(link, number)]


def _ask(link: str, number: int) -> int:
    value = ctypes.create_string_buffer(struct.pack("II", number, 0))
    request = struct.pack("16sP8x", link.encode(), ctypes.addressof(value))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCETHTOOL, request)
    return int(struct.unpack("II", value.raw[:8])[1])
