"""Keystone's cache in memcached: nothing of it is believed that Keystone did not write itself.

The client of oslo.cache would unpickle whatever a server sends, so that any pod that reaches memcached could run code in
Keystone, or give itself roles. Here pickles are sealed, and others are never opened.
"""

import pickle
from collections.abc import Mapping
from typing import Any, NoReturn

from oslo_cache import _memcache_pool
from sealed import Seal


def _refuse(_file: object) -> NoReturn:
    raise pickle.UnpicklingError("only sealed values are unpickled")


def install(secret: str) -> None:
    """Let all clients that are made from now on seal their values."""
    seal = Seal(secret)

    class Client(_memcache_pool._MemcacheClient):  # type: ignore[misc]
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named, unpickler=_refuse)

        def get(self, key: str, default: Any = None) -> Any:
            return _opened(key, super().get(key), default)

        def get_multi(self, keys: list[str], *args: Any, **named: Any) -> dict[str, Any]:
            found = {key: _opened(key, value) for key, value in super().get_multi(keys, *args, **named).items()}
            return {key: value for key, value in found.items() if value is not None}

        def set(self, key: str, val: Any, *args: Any, **named: Any) -> Any:
            return super().set(key, _closed(key, val), *args, **named)

        def add(self, key: str, val: Any, *args: Any, **named: Any) -> Any:
            return super().add(key, _closed(key, val), *args, **named)

        def set_multi(self, mapping: Mapping[str, Any], *args: Any, **named: Any) -> Any:
            return super().set_multi({key: _closed(key, value) for key, value in mapping.items()}, *args, **named)

    def _closed(key: str, value: Any) -> bytes:
        return seal.close(key, pickle.dumps(value))

    def _opened(key: str, value: Any, default: Any = None) -> Any:
        opened = seal.open(key, value)
        return default if opened is None else pickle.loads(opened)

    _memcache_pool._MemcacheClient = Client
