"""The kind Memcached."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class Memcached(ServiceResource):
    DESCRIPTION = "The cache that all services share."
    KIND: ClassVar[Kind] = service_kind("Memcached", "memcacheds", "mc")
