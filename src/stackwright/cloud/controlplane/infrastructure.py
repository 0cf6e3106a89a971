"""Templates of database, message buses and cache in an OpenStackControlPlane."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from stackwright.api.fields.naming import OptionalObjectName
from stackwright.api.fields.shared import Quantity
from stackwright.api.meta import CamelModel
from stackwright.api.reference import ANY
from stackwright.api.support import (
    Unsupported,
    UnsupportedFlag,
    UnsupportedText,
    unsupported,
    unused,
)
from stackwright.cloud.controlplane.pods import (
    Pods,
)


class GaleraTemplate(Pods):
    replicas: Literal[1, 3] = Field(1, description="Number of servers; two servers would stop if either one fails.")
    secret: OptionalObjectName = unused("", "Stackwright generates the password of root.")
    storage_class: OptionalObjectName = Field(
        "", description="Storage class of the volumes; empty for spec.storageClass."
    )
    storage_request: Quantity | None = Field(None, description="Size of each volume; absent: 5Gi.")
    root_database_account: UnsupportedText = unsupported("Name of the administrator.")
    custom_service_config: UnsupportedText = unsupported("Options of MariaDB.")
    disable_non_tls_listeners: UnsupportedFlag = unsupported("TLS alone.", alias="disableNonTLSListeners")
    log_to_disk: UnsupportedFlag = unsupported("Logs in files.")


class GaleraTemplates(CamelModel):
    UNDECLARED: ClassVar[str] = ANY
    openstack: GaleraTemplate = Field(default_factory=lambda: GaleraTemplate(), description="The only database.")


class RabbitPersistence(CamelModel):
    storage: Quantity | None = Field(None, description="Size of the volume; absent: 1Gi.")
    storage_class_name: OptionalObjectName = Field(
        "", description="Storage class of the volume; empty for spec.storageClass."
    )


class RabbitTemplate(Pods):
    UNDECLARED: ClassVar[str] = (
        "affinity delayStartSeconds skipPostDeploySteps targetVersion terminationGracePeriodSeconds tolerations"
    )
    replicas: Literal[1] = Field(1, description="Number of servers.")
    persistence: RabbitPersistence = Field(default_factory=lambda: RabbitPersistence(), description="The volume.")
    queue_type: UnsupportedText = unsupported("Kind of queues.")
    rabbitmq: Unsupported = unsupported("Options of RabbitMQ.")
    pod_override: Unsupported = unsupported("Services of single pods.")


class RabbitTemplates(CamelModel):
    UNDECLARED: ClassVar[str] = ANY
    rabbitmq: RabbitTemplate = Field(
        default_factory=lambda: RabbitTemplate(),
        description="The message bus of notifications, and of services without their own one.",
    )
    rabbitmq_cell1: RabbitTemplate | None = Field(
        None, alias="rabbitmq-cell1", description="Nova's own bus; absent: Nova shares rabbitmq."
    )


class MemcachedTemplate(Pods):
    UNDECLARED: ClassVar[str] = "cacheSize maxConn"
    replicas: int = Field(1, ge=1, le=32, description="Number of servers; all services use all of them.")


class MemcachedTemplates(CamelModel):
    UNDECLARED: ClassVar[str] = ANY
    memcached: MemcachedTemplate = Field(default_factory=lambda: MemcachedTemplate(), description="The only cache.")
