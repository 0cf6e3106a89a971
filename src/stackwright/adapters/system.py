"""The machine's clock and its source of randomness."""

from __future__ import annotations

import base64
import secrets
import string
import time

_ALPHABET = string.ascii_letters + string.digits


class SystemClock:
    def now(self) -> float:
        return time.time()


class SystemEntropy:
    def password(self) -> str:
        """A password of 190 bits, of letters and digits only: it needs no quoting in URLs, SQL and INI files."""
        return "".join(secrets.choice(_ALPHABET) for _ in range(32))

    def fernet_key(self) -> str:
        return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
