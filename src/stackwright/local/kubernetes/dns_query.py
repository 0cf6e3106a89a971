"""One DNS query over UDP: the only reliable test that the cluster's DNS responds now, through its Service."""

from __future__ import annotations

import os
import socket
import struct


def question(name: str, identifier: int) -> bytes:
    """A query for an A record."""
    header = struct.pack(">HHHHHH", identifier, 0x0100, 1, 0, 0, 0)
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.rstrip(".").split("."))
    return header + labels + b"\0" + struct.pack(">HH", 1, 1)


def is_answer(packet: bytes, identifier: int) -> bool:
    """Whether the packet is a response to our query, without error and with at least one record."""
    if len(packet) < 12:
        return False
    number, flags, _, answers = struct.unpack(">HHHH", packet[:8])
    return bool(number == identifier and flags & 0x800F == 0x8000 and answers > 0)


def resolves(name: str, server: str, limit: float = 1.0) -> bool:
    identifier = int.from_bytes(os.urandom(2), "big")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(limit)
        try:
            sock.connect((server, 53))
            sock.send(question(name, identifier))
            return is_answer(sock.recv(1500), identifier)
        except OSError:
            return False
