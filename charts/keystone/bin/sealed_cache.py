"""Keystone's cache in memcached, encrypted: only values that Keystone wrote itself are used.

The client of oslo.cache unpickles each value, so any pod with access to memcached could run code in Keystone or grant
itself roles. Here values are encrypted, and only those that decrypt are unpickled. Their keys have a prefix, so that
earlier versions of Keystone, which read and write plain values, do not see them.
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
"""Must change whenever the format of encrypted values changes."""


def install() -> None:
    """Makes all new clients encrypt their values. Each process that uses the cache must call this."""
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
