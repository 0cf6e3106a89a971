"""The kind Ceph."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.rules import Change
from stackwright.api.services.kinds import ServiceResource, service_kind
from stackwright.api.services.voters import SIZE_KEEPS_VOTERS


class Ceph(ServiceResource):
    DESCRIPTION = "Storage: a small Ceph of the cloud, or the monitoring of an external Ceph."
    KIND: ClassVar[Kind] = service_kind("Ceph", "cephs", "cph")
    CHANGES: ClassVar[tuple[Change, ...]] = (SIZE_KEEPS_VOTERS,)
