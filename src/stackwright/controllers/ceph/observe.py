"""Reads the exchange with Ceph: the clients, the handed-over objects and the health that `ceph-watch` wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from stackwright.api.kinds import CONFIGMAP, SECRET
from stackwright.api.services.contracts import CephClient
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader
from stackwright.services.ceph.features import CephSettings
from stackwright.services.ceph.kind import Ceph
from stackwright.services.ceph.values import GATEWAY as URLS
from stackwright.services.ceph.values import GATEWAY_CREDENTIALS, HEALTH, KEYS, REQUESTS
from stackwright.services.ceph_rgw import SERVICE as GATEWAY
from stackwright.services.ceph_rgw.kind import CephRGW
from stackwright.services.context import PUBLIC_TLS

SOURCES = (f"{GATEWAY.name}-keystone", PUBLIC_TLS)


@dataclass(frozen=True)
class Observed:
    """clients  all of the namespace, because a client of another Ceph may own the Secret that one of this Ceph names
    sources  name → Secret or None, the sources of the gateway's credentials
    keys     the Secret from the provider of Ceph;  urls  the published URLs of its gateway
    """

    obj: Object
    settings: CephSettings | None = None
    clients: tuple[Object, ...] = ()
    requests: Object | None = None
    health: Object | None = None
    gateway: Object | None = None
    sources: Mapping[str, Any] = field(default_factory=dict)
    credentials: Object | None = None
    keys: Object | None = None
    urls: Object | None = None


async def observe(reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(Ceph.KIND, key)
    if obj is None:
        return None
    try:
        settings = CephSettings.model_validate((obj.get("spec") or {}).get("settings") or {})
    except ValidationError:
        return Observed(obj)  # the service controller reports the error
    place = settings.exchange(key[0])
    clients = await reader.list(CephClient.KIND, key[0])
    return Observed(
        obj,
        settings,
        tuple(sorted(clients, key=lambda each: str(each["metadata"]["name"]))),
        await reader.get(CONFIGMAP, (place, REQUESTS)),
        await reader.get(CONFIGMAP, (key[0], HEALTH)),
        await reader.get(CephRGW.KIND, (key[0], GATEWAY.name)),
        {name: await reader.get(SECRET, (key[0], name)) for name in SOURCES},
        await reader.get(SECRET, (place, GATEWAY_CREDENTIALS)),
        await reader.get(SECRET, (place, KEYS)),
        await reader.get(CONFIGMAP, (key[0], URLS)),
    )
