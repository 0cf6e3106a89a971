"""Parts that the templates of an OpenStackControlPlane share; most of their fields are rejected as unsupported.

Rare fields are omitted to keep the CRD small; `UNDECLARED` has their names. Fields that name another object
(databaseInstance, memcachedInstance …) accept only the one existing name.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from stackwright.api.fields import ini
from stackwright.api.fields.naming import OptionalObjectName
from stackwright.api.meta import CamelModel
from stackwright.api.support import (
    Unsupported,
    UnsupportedList,
    UnsupportedMap,
    UnsupportedNumber,
    UnsupportedText,
    UnsupportedTexts,
    unsupported,
    unused,
)

Database = Literal["openstack"]
Bus = Literal["rabbitmq"]


def _ini(text: str) -> str:
    ini.sections(text)
    return text


Ini = Annotated[str, AfterValidator(_ini)]
INI = "Options in INI format; they override the built options."
# Undeclared fields of a program.
PROGRAM = (
    "containerImage nodeSelector topologyRef resources networkAttachments override tls customServiceConfigSecrets "
    "defaultConfigOverwrite"
)


def replicas_field(most: int = 32) -> Any:
    return Field(1, ge=0, le=most, description="Number of pods.")


class BusReference(CamelModel):
    UNDECLARED: ClassVar[str] = "user vhost"
    cluster: Bus = Field("rabbitmq", description="Name of the bus.")


class ApiCertificate(CamelModel):
    """No field is supported."""

    UNDECLARED: ClassVar[str] = "secretName"


class ApiTls(CamelModel):
    internal: ApiCertificate | None = Field(None, description="Certificate; not supported.")
    public: ApiCertificate | None = Field(None, description="Certificate; not supported.")


class PodTls(CamelModel):
    UNDECLARED: ClassVar[str] = "api caSecretName mtls ovn secretName"
    ca_bundle_secret_name: UnsupportedText = unsupported("Additional CA certificates.")


class ServiceTls(PodTls):
    api: ApiTls | None = Field(None, description="TLS of the API; not supported.")


class PodResources(CamelModel):
    """No field is supported, as in ApiCertificate."""

    UNDECLARED: ClassVar[str] = "claims limits requests"


class PodOverride(CamelModel):
    """No field is supported, as in ApiCertificate."""

    UNDECLARED: ClassVar[str] = "probes service"


class Pods(CamelModel):
    """Fields that templates of single programs share; none is supported."""

    container_image: UnsupportedText = unsupported(
        "Image; the option --images of the installation sets the registry of all images."
    )
    node_selector: UnsupportedMap = unsupported("Label of nodes; Stackwright's own labels place pods.")
    topology_ref: Unsupported = unsupported("Topologies.")
    resources: PodResources | None = Field(None, description="Requests and limits; not supported.")
    network_attachments: UnsupportedTexts = unsupported("Additional networks of pods.")
    override: PodOverride | None = Field(None, description="Services and probes; not supported.")
    tls: PodTls | None = Field(None, description="TLS inside the cluster; not supported.")


class Template(Pods):
    """Fields that templates of whole services share."""

    UNDECLARED: ClassVar[str] = "auth messagingBus rabbitMqClusterName"
    tls: ServiceTls | None = Field(None, description="TLS inside the cluster; not supported.")
    secret: OptionalObjectName = unused("", "Stackwright generates the passwords of services.")
    database_instance: Database = Field("openstack", description="The database.")
    memcached_instance: Literal["memcached"] = Field("memcached", description="The cache.")
    notifications_bus: BusReference | None = Field(None, description="The message bus of notifications.")
    notifications_bus_instance: Bus = Field("rabbitmq", description="The message bus of notifications.")
    custom_service_config_secrets: UnsupportedTexts = unsupported("Options from Secrets.")
    default_config_overwrite: Unsupported = unsupported("Additional configuration files.")
    database_account: UnsupportedText = unsupported("Name of the database's user.")
    service_user: UnsupportedText = unsupported("Name of the service's user.")
    password_selectors: Unsupported = unsupported("Keys of passwords.")
    preserve_jobs: bool = unused(False, "a Job is always kept until the next one.")
    extra_mounts: UnsupportedList = unsupported("Further volumes.")
    api_timeout: UnsupportedNumber = unsupported("Timeout of the API.")


class Configured(Template):
    custom_service_config: Ini = Field("", description=INI)
