"""Serializer for Horizon's values in memcached, mainly sessions: encrypted JSON. Values are never unpickled."""

import datetime
import json
from typing import Any

from sealed import Seal


class Serde:
    """Serializer for pymemcache's client."""

    def __init__(self, secret: str) -> None:
        self._seal = Seal(secret)

    def serialize(self, key: str | bytes, value: Any) -> tuple[bytes, int]:
        return self._seal.close(key, json.dumps(value, default=_plain).encode()), 0

    def deserialize(self, key: str | bytes, value: bytes, flags: int) -> Any:
        opened = self._seal.open(key, value)
        return None if opened is None else json.loads(opened, object_hook=_Objects())


def _plain(value: Any) -> Any:
    """JSON form of the types in Horizon's sessions that JSON does not support."""
    from django.utils.functional import Promise
    from keystoneauth1.access import AccessInfo
    from openstack_auth.user import Token

    match value:
        case Token():
            return {"__token__": vars(value)}
        case AccessInfo():
            return {"__access__": value._data, "id": value.auth_token}
        case datetime.datetime():
            return {"__time__": value.isoformat()}
        case datetime.date() | Promise():
            return str(value)
    raise TypeError(f"a session takes no {type(value).__name__}")


class _Objects:
    """Restores objects. Tokens with the same ID become one object, because Horizon compares tokens by identity."""

    def __init__(self) -> None:
        self._tokens: dict[str, Any] = {}

    def __call__(self, found: dict[str, Any]) -> Any:
        if found.keys() == {"__time__"}:
            return datetime.datetime.fromisoformat(found["__time__"])
        if found.keys() == {"__access__", "id"}:
            from keystoneauth1 import access

            return access.create(body=found["__access__"], auth_token=found["id"])
        if found.keys() == {"__token__"}:
            from openstack_auth.user import Token

            made = Token.__new__(Token)
            made.__dict__.update(found["__token__"])
            return self._tokens.setdefault(made.id, made)
        return found
