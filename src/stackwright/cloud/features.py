"""`spec.features` of an OpenStackDeployment: features of the whole cloud, and those that services declare.

Each service adds its own fields (`derived`). A field of the reference that no service declares is not supported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import Field, create_model, field_validator

from stackwright.api.meta import Model
from stackwright.api.services.kinds import LogLevel
from stackwright.api.support import Absent, OffAnyway, Unsupported, absent, unsupported
from stackwright.cloud.service_names import OWN_BUS, Dedicated, ServiceName
from stackwright.services.declaration import Service
from stackwright.services.mariadb.cleanup import Cleanup
from stackwright.services.registry import SERVICES as DECLARED

M = TypeVar("M", bound=Model)


def derived(fields: Mapping[str, Any]) -> Callable[[type[M]], type[M]]:
    """Adds the field of each service that declares one; it replaces a field that rejects the name.

    Code reads such a field by a method of the model and the declaration, never by its name.
    """

    def add(model: type[M]) -> type[M]:
        return create_model(model.__name__, __base__=model, __module__=model.__module__, **fields)

    return add


class ServiceLogging(Model):
    level: LogLevel = Field("INFO", description="Log level of the service.")


class Cadf(Model):
    enabled: bool = Field(description="Send audit events.")
    driver: Literal["messagingv2", "log"] = Field("messagingv2", description="Destination: the message bus or the log.")


@derived(
    {
        each.name: (
            ServiceLogging,
            Field(default_factory=ServiceLogging, description=f"Logging of {each.kind.kind}."),
        )
        for each in DECLARED
        if each.logging
    }
)
class Logging(Model):
    UNDECLARED: ClassVar[str] = "aodh barbican designate gnocchi heat ironic manila masakari octavia panko"
    cadf: Cadf | None = Field(None, description="Audit events (CADF) of the identity service.")

    def level(self, declared: Service) -> LogLevel:
        found: ServiceLogging = getattr(self, declared.name) if declared.logging else ServiceLogging()
        return found.level

    @property
    def audit(self) -> str:
        """Destination of audit events: messagingv2, log, or empty for none."""
        return self.cadf.driver if self.cadf and self.cadf.enabled else ""


class NetworkPolicies(Model):
    enabled: bool = Field(True, description="Allow only declared connections to the cloud's pods.")


@derived(
    {
        each.name: (Cleanup, Field(default_factory=Cleanup, description=f"Of {each.kind.kind}."))
        for each in DECLARED
        if each.cleanup
    }
)
class DatabaseCleanup(Model):
    barbican: Absent | None = absent("Of Barbican.")
    masakari: Absent | None = absent("Of Masakari.")
    heat: Absent | None = absent("Of Heat.")
    aodh: Absent | None = absent("Of Aodh.")
    manila: Absent | None = absent("Of Manila.")
    horizon: Absent | None = absent("Of Horizon.")

    def of(self, declared: Service) -> Cleanup:
        found: Cleanup = getattr(self, declared.name)
        return found


class DatabaseFeatures(Model):
    cleanup: DatabaseCleanup = Field(default_factory=lambda: DatabaseCleanup(), description="Purge jobs.")
    backup: OffAnyway | None = absent("Backups of the database.")


class Notifications(Model):
    external: OffAnyway | None = absent("Notifications for external systems.")


class MessagingFeatures(Model):
    components_with_dedicated_messaging: list[Dedicated] = Field(
        default_factory=lambda: list(OWN_BUS), description="Services with their own RabbitMQ."
    )
    notifications: Notifications | None = Field(None, description="Notifications of the services.")


@derived(
    {
        each.features.name or each.name: (
            each.features.model,
            Field(default_factory=each.features.model, description=each.features.description),
        )
        for each in DECLARED
        if each.features
    }
)
class Features(Model):
    services: list[ServiceName] = Field(
        default_factory=list, description="Services in addition to those of the preset; ~name removes one."
    )
    logging: Logging = Field(default_factory=Logging, description="Log levels and audit events.")
    network_policies: NetworkPolicies = Field(default_factory=NetworkPolicies, description="Network policies.")
    policies: Unsupported = unsupported("API policies.")
    database: DatabaseFeatures = Field(default_factory=DatabaseFeatures, description="Clean-up of the databases.")
    telemetry: Unsupported = unsupported("Telemetry.")
    designate: Unsupported = unsupported("DNS service.")
    barbican: Unsupported = unsupported("Key manager.")
    cloudprober: Unsupported = unsupported("Cloud prober.")
    messaging: MessagingFeatures = Field(default_factory=MessagingFeatures, description="The message buses.")
    ironic: Unsupported = unsupported("Bare metal service.")
    octavia: Unsupported = unsupported("Load balancer service.")
    stacklight: Absent | None = absent("StackLight.")
    manila: Unsupported = unsupported("Shared file systems.")
    masakari: Unsupported = unsupported("Instance high availability.")

    @field_validator("services")
    @classmethod
    def _not_both(cls, value: list[str]) -> list[str]:
        if both := sorted({name for name in value if f"~{name}" in value}):
            raise ValueError(f"{', '.join(both)}: listed both with and without ~; remove one of the two")
        return value

    def of(self, declared: Service) -> Model | None:
        """The features of a service, as the model of its declaration; None for a service without features."""
        if declared.features is None:
            return None
        found: Model = getattr(self, declared.features.name or declared.name)
        return found

    @property
    def added(self) -> list[str]:
        return [name for name in self.services if not name.startswith("~")]

    @property
    def removed(self) -> set[str]:
        return {name[1:] for name in self.services if name.startswith("~")}
