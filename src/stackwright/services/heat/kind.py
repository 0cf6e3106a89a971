"""The kind Heat."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class Heat(ServiceResource):
    DESCRIPTION = "The orchestration service."
    KIND: ClassVar[Kind] = service_kind("Heat", "heats", "ht")
