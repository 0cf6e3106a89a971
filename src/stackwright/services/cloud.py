"""Facts about the surrounding cloud for the settings of a service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Cloud:
    """Facts about a cloud.

    services       names of all its services (identity, database …)
    requested      services that the preset or the user names; these require the others
    storage_class  class of volumes that are not local; empty for the class of local volumes
    audit          destination of audit events: messagingv2, log, or empty for none
    buses          names of the service objects (nova …) with a RabbitMQ of their own
    cleanups       name of a service object → the values that the user set for its clean-up
    """

    services: tuple[str, ...]
    requested: tuple[str, ...]
    network_policies: bool
    storage_class: str = ""
    audit: str = ""
    buses: frozenset[str] = frozenset()
    cleanups: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    def bus(self, name: str) -> str:
        """The RabbitMQ of a service: its own, or the one for notifications."""
        return f"{name}-rabbitmq" if name in self.buses else "rabbitmq"

    def cleanup(self, name: str) -> dict[str, Any]:
        return self.cleanups.get(name, {})
