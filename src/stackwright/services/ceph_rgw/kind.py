"""The kind CephRGW."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class CephRGW(ServiceResource):
    DESCRIPTION = "Object storage: the Ceph gateway, with the APIs of Swift and S3."
    KIND: ClassVar[Kind] = service_kind("CephRGW", "cephrgws", "crgw")
