"""The kind Designate."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class Designate(ServiceResource):
    DESCRIPTION = "The DNS service."
    KIND: ClassVar[Kind] = service_kind("Designate", "designates", "dns")
