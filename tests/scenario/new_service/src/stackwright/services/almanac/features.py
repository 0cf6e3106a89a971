"""The features of the calendar service, and its facts from the surrounding cloud."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from stackwright.api.fields.naming import InstanceName
from stackwright.api.meta import Model
from stackwright.api.support import Unsupported, unsupported
from stackwright.services.context import Settings
from stackwright.services.mariadb.cleanup import Cleanup


class AlmanacFeatures(Model):
    weeks: int = Field(52, ge=1, description="Weeks that it knows.")
    style: Literal["plain", "rich"] = Field("plain", description="How it shows them.")
    backend: Unsupported = unsupported("Other calendars.")


class AlmanacSettings(AlmanacFeatures, Settings):
    """features.almanac."""

    messaging_instance: InstanceName = Field("rabbitmq", description="Name of the RabbitMQ object.")
    cleanup: Cleanup = Field(default_factory=Cleanup, description="features.database.cleanup.almanac.")
