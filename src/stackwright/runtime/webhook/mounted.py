"""Reads a certificate that another program issues and renews, from a mounted Secret: tls.crt, tls.key, optionally
ca.crt.

Kubelet replaces all files of a Secret at once, but they are read one after the other. A mixture of old and new files is
not a valid pair, and the next read returns the new files.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

from stackwright.runtime import x509

FILES = ("tls.crt", "tls.key", "ca.crt")
LARGEST = 1 << 20  # characters of a file; a Secret has no more


def read(folder: Path) -> dict[str, str]:
    """Name → text of the files that can be read, each with a line break at its end."""
    found = {}
    for name in FILES:
        try:
            with (folder / name).open(encoding="ascii") as file:
                found[name] = file.read(LARGEST).strip() + "\n"
        except (OSError, ValueError):
            continue
    return found


def problem(folder: Path, data: Mapping[str, str], name: str, now: float, trusted: bool) -> str:
    """The problem of files that cannot be served, without any of their content; empty if they can be served.

    trusted  whether API servers will trust ca.crt: a client that trusts it must accept the certificate for `name`
    """
    needed = FILES if trusted else FILES[:2]
    if missing := [each for each in needed if not data.get(each, "").strip()]:
        return f"{', '.join(missing)} is missing or no text"
    if not x509.is_pair(data):
        return "tls.crt and tls.key are not a certificate and its key"
    try:  # OpenSSL refuses more, such as short keys
        scratch = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        scratch.load_cert_chain(folder / "tls.crt", folder / "tls.key", lambda: "")
    except (OSError, ValueError) as error:
        return f"OpenSSL refuses tls.crt or tls.key: {getattr(error, 'reason', None) or type(error).__name__}"
    if trusted and not x509.serves(data, name, now):
        return f"no client that trusts ca.crt accepts tls.crt for a server named {name} now"
    return ""
