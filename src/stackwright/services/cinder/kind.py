"""The kind Cinder."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class Cinder(ServiceResource):
    DESCRIPTION = "The block storage service."
    KIND: ClassVar[Kind] = service_kind("Cinder", "cinders", "cd")
