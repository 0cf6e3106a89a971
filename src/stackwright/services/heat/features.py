"""Facts about the cloud around the orchestration service, which has no features of its own."""

from __future__ import annotations

from pydantic import Field

from stackwright.api.fields.naming import InstanceName
from stackwright.services.context import Settings
from stackwright.services.mariadb.cleanup import Cleanup


class HeatSettings(Settings):
    """The message bus, and the purge of deleted stacks."""

    messaging_instance: InstanceName = Field("rabbitmq", description="Name of the RabbitMQ object.")
    cleanup: Cleanup = Field(default_factory=Cleanup, description="features.database.cleanup.heat.")
