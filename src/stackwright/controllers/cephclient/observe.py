"""Reads a client, its Ceph, the owner of the exchange, the field names of the provider's Secret, and the client's own
Secret.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from stackwright.api.kinds import CONFIGMAP, SECRET
from stackwright.api.services.contracts import CephClient, CephClientSpec
from stackwright.controllers.claimants import Claimants
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader
from stackwright.services.ceph.features import CephSettings
from stackwright.services.ceph.kind import Ceph
from stackwright.services.ceph.values import KEYS, REQUESTS


@dataclass(frozen=True)
class Observed:
    """settings  of the Ceph object; None without one
    keys      the Secret of the Ceph provider
    requests  the ConfigMap that names the owner of the exchange namespace
    others    CephClients in the namespace that name the same client or Secret
    """

    obj: Object
    settings: CephSettings | None = None
    keys: Object | None = None
    requests: Object | None = None
    secret: Object | None = None
    others: tuple[Object, ...] = ()


async def observe(claimants: Claimants, reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(CephClient.KIND, key)
    if obj is None:
        claimants.forget(key)
        return None
    try:
        spec = CephClientSpec.model_validate(obj["spec"])
    except ValidationError:
        return Observed(obj)  # decide reports the errors; invalid names must not be looked up
    others = await claimants.others(reader, obj)
    ceph = await reader.get(Ceph.KIND, (key[0], spec.instance))
    if ceph is None:
        return Observed(obj, others=others)
    try:
        settings = CephSettings.model_validate((ceph.get("spec") or {}).get("settings") or {})
    except ValidationError:
        return Observed(obj, others=others)  # the Ceph object reports these errors
    exchange = settings.exchange(key[0])
    return Observed(
        obj,
        settings,
        await reader.get(SECRET, (exchange, KEYS)),
        await reader.get(CONFIGMAP, (exchange, REQUESTS)),
        await reader.get(SECRET, (key[0], spec.secret_name)),
        others,
    )
