"""Reads the server pods of a MariaDB."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.kinds import POD
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader
from stackwright.services.mariadb.kind import MariaDB

SERVERS = {"application": "mariadb", "component": "server"}


@dataclass(frozen=True)
class Observed:
    obj: Object
    pods: tuple[Object, ...]


async def observe(reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(MariaDB.KIND, key)
    if obj is None:
        return None
    return Observed(obj, tuple(await reader.list(POD, key[0], SERVERS)))
