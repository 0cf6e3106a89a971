"""The kind RabbitMQ."""

from __future__ import annotations

from typing import ClassVar

from stackwright.api.meta import Kind
from stackwright.api.services.kinds import ServiceResource, service_kind


class RabbitMQ(ServiceResource):
    DESCRIPTION = "The message bus."
    KIND: ClassVar[Kind] = service_kind("RabbitMQ", "rabbitmqs", "rmq")
