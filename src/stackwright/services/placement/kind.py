"""The kind Placement."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class Placement(ServiceResource):
    DESCRIPTION = "The placement service: inventories and allocations of resources."
    KIND: ClassVar[Kind] = service_kind("Placement", "placements", "pl")
