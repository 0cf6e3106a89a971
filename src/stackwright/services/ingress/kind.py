"""The kind Ingress."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class Ingress(ServiceResource):
    DESCRIPTION = "The ingress: public endpoints with TLS."
    KIND: ClassVar[Kind] = service_kind("Ingress", "ingresses", "sing")
