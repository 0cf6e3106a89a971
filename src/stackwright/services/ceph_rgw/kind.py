"""The kind CephRGW."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class CephRGW(ServiceResource):
    DESCRIPTION = "Object storage: Ceph's gateway, with the Swift API and S3."
    KIND: ClassVar[Kind] = service_kind("CephRGW", "cephrgws", "crgw")
