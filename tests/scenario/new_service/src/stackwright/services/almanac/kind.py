"""The kind Almanac."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class Almanac(ServiceResource):
    DESCRIPTION = "The calendar service."
    KIND: ClassVar[Kind] = service_kind("Almanac", "almanacs", "alm")
