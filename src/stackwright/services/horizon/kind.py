"""The kind Horizon."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class Horizon(ServiceResource):
    DESCRIPTION = "The dashboard."
    KIND: ClassVar[Kind] = service_kind("Horizon", "horizons", "hz")
