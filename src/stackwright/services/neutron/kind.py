"""The kind Neutron."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class Neutron(ServiceResource):
    DESCRIPTION = "The networking service, with its switches and agents on the nodes."
    KIND: ClassVar[Kind] = service_kind("Neutron", "neutrons", "nt")
