"""The kind Etcd."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.rules import Change
from stackwright.api.services.kinds import ServiceResource, service_kind
from stackwright.api.services.voters import SIZE_KEEPS_VOTERS


class Etcd(ServiceResource):
    DESCRIPTION = "Coordination: locks that all processes of a service share."
    KIND: ClassVar[Kind] = service_kind("Etcd", "etcds", "ec")
    CHANGES: ClassVar[tuple[Change, ...]] = (SIZE_KEEPS_VOTERS,)
