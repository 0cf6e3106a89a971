"""The kind Barbican."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class Barbican(ServiceResource):
    DESCRIPTION = "The key manager."
    KIND: ClassVar[Kind] = service_kind("Barbican", "barbicans", "bb")
