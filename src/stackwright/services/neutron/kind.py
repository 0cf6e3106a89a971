"""The kind Neutron."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.rules import Change
from stackwright.api.services.kinds import ServiceResource, service_kind
from stackwright.api.services.voters import SIZE_KEEPS_VOTERS


class Neutron(ServiceResource):
    DESCRIPTION = "The networking service, with its switches and agents on the nodes."
    KIND: ClassVar[Kind] = service_kind("Neutron", "neutrons", "nt")
    CHANGES: ClassVar[tuple[Change, ...]] = (SIZE_KEEPS_VOTERS,)
