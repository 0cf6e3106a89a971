"""The kind Keystone."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class Keystone(ServiceResource):
    DESCRIPTION = "The identity service, and a client pod with the OpenStack command line."
    KIND: ClassVar[Kind] = service_kind("Keystone", "keystones", "ks")
