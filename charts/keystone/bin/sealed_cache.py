"""Keystone's cache in memcached: nothing of it is believed that Keystone did not write itself.

The client of oslo.cache would unpickle whatever a server sends, so that any pod that reaches memcached could run code in
Keystone, or give itself roles. Here pickles are sealed, and others are never opened. The names of sealed values have a
prefix of their own, so that a Keystone of before, which reads and writes other values, meets none of them.
"""

import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import no_pickles
from oslo_cache import _memcache_pool
from sealed import Seal

KEY = Path("/etc/keystone/cache-key/key")
PREFIX = "sealed1:"
"""What a change of the form of sealed values changes."""


def install() -> None:
    """Let all clients that are made from now on seal their values. Every process that uses the cache calls this."""
    no_pickles.install()
    seal = Seal(KEY.read_text())

    class Client(_memcache_pool._MemcacheClient):  # type: ignore[misc]
        def get(self, key: str, default: Any = None) -> Any:
            return _opened(key, super().get(PREFIX + key), default)

        def get_multi(self, keys: Iterable[str], *args: Any, **named: Any) -> dict[str, Any]:
            names = {PREFIX + key: key for key in keys}
            found = super().get_multi(list(names), *args, **named)
            opened = {names[name]: _opened(names[name], value) for name, value in found.items()}
            return {key: value for key, value in opened.items() if value is not None}

        def set(self, key: str, val: Any, *args: Any, **named: Any) -> Any:
            return super().set(PREFIX + key, _closed(key, val), *args, **named)

        def add(self, key: str, val: Any, *args: Any, **named: Any) -> Any:
            return super().add(PREFIX + key, _closed(key, val), *args, **named)

        def set_multi(self, mapping: Mapping[str, Any], *args: Any, **named: Any) -> Any:
            return super().set_multi(
                {PREFIX + key: _closed(key, value) for key, value in mapping.items()}, *args, **named
            )

        def delete(self, key: str, *args: Any, **named: Any) -> Any:
            return super().delete(PREFIX + key, *args, **named)

        def delete_multi(self, keys: Iterable[str], *args: Any, **named: Any) -> Any:
            return super().delete_multi([PREFIX + key for key in keys], *args, **named)

    def _closed(key: str, value: Any) -> bytes:
        return seal.close(key, pickle.dumps(value))

    def _opened(key: str, value: Any, default: Any = None) -> Any:
        opened = seal.open(key, value)
        return default if opened is None else pickle.loads(opened)

    _memcache_pool._MemcacheClient = Client
