"""Sends ICMP echo requests: the program `ping` is not on every machine, and its timeouts are whole seconds."""

from __future__ import annotations

import os
import socket
import struct
import time

from stackwright.smoke.ports import Failed

ECHO_REQUEST, ECHO_REPLY = 8, 0
PATIENCE = 1.0


def ping(address: str, patience: float = PATIENCE) -> bool:
    """Send one ICMP echo request, with a new identifier, so that no firewall assigns it to an older exchange."""
    identifier = int.from_bytes(os.urandom(2), "big")
    packet = echo(identifier)
    with _icmp_socket() as sock:
        sock.settimeout(patience)
        try:
            sock.sendto(packet, (address, 0))
            end = time.monotonic() + patience
            while time.monotonic() < end:
                data, (sender, *_) = sock.recvfrom(2048)
                if sender == address and is_reply(data, identifier):
                    return True
        except OSError:
            return False
    return False


def _icmp_socket() -> socket.socket:
    try:
        return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    except PermissionError:
        raise Failed("sending ICMP packets requires root") from None


def echo(identifier: int) -> bytes:
    body = struct.pack(">HH", identifier, 1) + b"stackwright smoke"
    body += b"\0" * (len(body) % 2)
    total = sum(struct.unpack(f">{len(body) // 2}H", body)) + (ECHO_REQUEST << 8)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">BBH", ECHO_REQUEST, 0, ~total & 0xFFFF) + body


def is_reply(packet: bytes, identifier: int) -> bool:
    """Whether the packet is the echo reply to our request, after the IP header that raw sockets deliver."""
    start = (packet[0] & 0x0F) * 4 if packet else 0
    icmp = packet[start : start + 8]
    return len(icmp) == 8 and icmp[0] == ECHO_REPLY and struct.unpack(">H", icmp[4:6])[0] == identifier
