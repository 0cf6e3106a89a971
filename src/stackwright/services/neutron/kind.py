"""The kind Neutron."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.rules import Change, at
from stackwright.api.services.kinds import ServiceResource, service_kind
from stackwright.api.services.voters import SIZE_KEEPS_VOTERS

_BACKEND = "spec.settings.backend"
# Only OVN's databases vote.
_WITH_OVN = Change(
    SIZE_KEEPS_VOTERS.field,
    SIZE_KEEPS_VOTERS.message,
    "",  # CEL cannot access the settings
    lambda old, new: at(new, _BACKEND) == "ml2/ovn" and SIZE_KEEPS_VOTERS.refused(old, new),
)


class Neutron(ServiceResource):
    DESCRIPTION = "The networking service, with its switches and agents on the nodes."
    KIND: ClassVar[Kind] = service_kind("Neutron", "neutrons", "nt")
    CHANGES: ClassVar[tuple[Change, ...]] = (_WITH_OVN,)
