"""Reads a control plane in the same way as the cloud controller reads its kind."""

from __future__ import annotations

from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.controllers.cloud.observe import Observed, observe_kind
from stackwright.core.plan import Key
from stackwright.core.ports import Reader
from stackwright.core.settings import Settings


async def observe(settings: Settings, reader: Reader, key: Key, now: float) -> Observed | None:
    return await observe_kind(OpenStackControlPlane.KIND, settings, reader, key)
