"""Values in a cache that others may reach, for scripts of charts: encrypted, and bound to the name they are kept under.

Without the secret nobody can read a value, make one, or move one to another name. What cannot be opened counts as absent.
"""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken


class Seal:
    """Made of any secret text; all who share the cache have the same one."""

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
