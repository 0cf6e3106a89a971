"""The kind Glance."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class Glance(ServiceResource):
    DESCRIPTION = "The image service."
    KIND: ClassVar[Kind] = service_kind("Glance", "glances", "gl")
