"""Encryption for values in a cache that other pods can access; each value is bound to its key in the cache.

Without the secret no value can be read, created or moved to another key. A value that does not decrypt is treated as
missing.
"""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken


class Seal:
    """Encrypts with a key derived from a secret text. All processes that share the cache use the same secret."""

    def __init__(self, secret: str) -> None:
        self._fernet = Fernet(base64.urlsafe_b64encode(hashlib.sha256(secret.encode()).digest()))

    def close(self, name: str | bytes, value: bytes) -> bytes:
        return self._fernet.encrypt(_digest(name) + value)

    def open(self, name: str | bytes, sealed: object) -> bytes | None:
        if not isinstance(sealed, bytes):
            return None
        try:
            opened = self._fernet.decrypt(sealed)
        except InvalidToken:
            return None
        digest = _digest(name)
        return opened.removeprefix(digest) if opened.startswith(digest) else None


def _digest(name: str | bytes) -> bytes:
    return hashlib.sha256(name if isinstance(name, bytes) else name.encode()).digest()
