"""The kind Nova."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class Nova(ServiceResource):
    DESCRIPTION = "The compute service, with the hypervisors on the compute nodes."
    KIND: ClassVar[Kind] = service_kind("Nova", "novas", "nv")
