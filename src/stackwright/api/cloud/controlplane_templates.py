"""The templates in the sections of an OpenStackControlPlane: one per service, with its supported fields.

The base models contain fields that many templates of the reference share, most of them rejected as unsupported. Rare
fields are omitted to keep the CRD small; `reference.py` lists their names. Fields that name another object
(databaseInstance, memcachedInstance …) accept only the one existing name.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from stackwright.api.cloud.features import Quantity
from stackwright.api.fields import ini
from stackwright.api.fields.lines import Line
from stackwright.api.fields.naming import OptionalObjectName, SecretKeyName
from stackwright.api.meta import CamelModel
from stackwright.api.support import (
    Unsupported,
    UnsupportedFlag,
    UnsupportedList,
    UnsupportedMap,
    UnsupportedNumber,
    UnsupportedText,
    UnsupportedTexts,
    unsupported,
)

Database = Literal["openstack"]
Bus = Literal["rabbitmq"]


def _ini(text: str) -> str:
    ini.sections(text)
    return text


Ini = Annotated[str, AfterValidator(_ini)]
INI = "Options in INI format; they override the built options."


def _replicas(most: int = 32) -> Any:
    return Field(1, ge=0, le=most, description="Number of pods.")


class BusReference(CamelModel):
    cluster: Bus = Field("rabbitmq", description="Name of the bus.")


class ApiCertificate(CamelModel):
    """No field is supported; `reference.py` lists the fields of the reference."""


class ApiTls(CamelModel):
    internal: ApiCertificate | None = Field(None, description="Certificate; not supported.")
    public: ApiCertificate | None = Field(None, description="Certificate; not supported.")


class PodTls(CamelModel):
    ca_bundle_secret_name: UnsupportedText = unsupported("Additional CA certificates.")


class ServiceTls(PodTls):
    api: ApiTls | None = Field(None, description="TLS of the API; not supported.")


class PodResources(CamelModel):
    """No field is supported, as in ApiCertificate."""


class PodOverride(CamelModel):
    """No field is supported, as in ApiCertificate."""


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

    tls: ServiceTls | None = Field(None, description="TLS inside the cluster; not supported.")
    secret: OptionalObjectName = Field("", description="Ignored: Stackwright generates the passwords of services.")
    database_instance: Database = Field("openstack", description="The database.")
    memcached_instance: Literal["memcached"] = Field("memcached", description="The cache.")
    notifications_bus: BusReference | None = Field(None, description="The message bus of notifications.")
    notifications_bus_instance: Bus = Field("rabbitmq", description="The message bus of notifications.")
    custom_service_config_secrets: UnsupportedTexts = unsupported("Options from Secrets.")
    default_config_overwrite: Unsupported = unsupported("Additional configuration files.")
    database_account: UnsupportedText = unsupported("Name of the database's user.")
    service_user: UnsupportedText = unsupported("Name of the service's user.")
    password_selectors: Unsupported = unsupported("Keys of passwords.")
    preserve_jobs: bool = Field(False, description="Ignored: a Job is always kept until the next one.")
    extra_mounts: UnsupportedList = unsupported("Further volumes.")
    api_timeout: UnsupportedNumber = unsupported("Timeout of the API.")


class Configured(Template):
    custom_service_config: Ini = Field("", description=INI)


class AdminSelector(CamelModel):
    admin: SecretKeyName = Field("AdminPassword", description="Key of the administrator's password.")
    database: UnsupportedText = unsupported("Key of the database's password.")


class KeystoneTemplate(Configured):
    secret: OptionalObjectName = Field(
        "", description="Secret with the administrator's password; empty for spec.secret."
    )
    replicas: int = _replicas()
    region: Line = Field("regionOne", min_length=1, description="Region name in the catalog.")
    admin_project: Line = Field("admin", min_length=1, description="Project of the administrator.")
    admin_user: Literal["admin"] = Field("admin", description="Name of the administrator.")
    password_selectors: AdminSelector = Field(default_factory=lambda: AdminSelector(), description="Keys of passwords.")
    enable_secure_rbac: Literal[True] = Field(
        True, alias="enableSecureRBAC", description="Ignored: scopes are always enforced."
    )
    fernet_max_active_keys: UnsupportedNumber = unsupported(
        "Ignored: the number of keys follows from the token lifetime."
    )
    fernet_rotation_days: UnsupportedNumber = unsupported(
        "Ignored: the rotation interval follows from the token lifetime."
    )
    httpd_customization: Unsupported = unsupported("Settings of Apache; uWSGI serves Keystone.")
    federated_realm_config: UnsupportedText = unsupported("Federation.")
    external_keystone_api: UnsupportedFlag = unsupported("An external Keystone.", alias="externalKeystoneAPI")


class GlanceStorage(CamelModel):
    storage_request: Quantity = Field(description="Size of the volume for images.")
    storage_class: OptionalObjectName = Field(
        "", description="Storage class of the volume; empty for spec.storageClass."
    )
    external: UnsupportedFlag = unsupported("Additional mounted storage.")


class GlanceApi(CamelModel):
    replicas: int = _replicas(1)
    type: Literal["single"] = Field("single", description="One API for users and services.")
    custom_service_config: Ini = Field("", description=INI)


class GlanceApis(CamelModel):
    default: GlanceApi = Field(default_factory=lambda: GlanceApi(), description="The API.")


class GlanceTemplate(Configured):
    storage: GlanceStorage | None = Field(None, description="The volume for images.")
    keystone_endpoint: Literal["default"] = Field("default", description="The API in the catalog.")
    glance_apis: GlanceApis = Field(default_factory=lambda: GlanceApis(), alias="glanceAPIs", description="The APIs.")
    quotas: Unsupported = unsupported("Quotas.")
    image_cache: Unsupported = unsupported("Cache of images.")
    db_purge: Unsupported = unsupported("Clean-up of the database.")


class PlacementTemplate(Configured):
    replicas: int = _replicas()


class NeutronTemplate(Configured):
    replicas: int = _replicas()
    core_plugin: Literal["ml2"] = Field("ml2", description="Neutron's core plugin.")
    ml2_mechanism_drivers: list[Literal["openvswitch", "ovn"]] = Field(
        default_factory=list,
        max_length=1,
        description="ovn for OVN; openvswitch or an empty list for Open vSwitch with agents.",
    )
    messaging_bus: BusReference | None = Field(None, description="The message bus.")
    rabbit_mq_cluster_name: Bus = Field("rabbitmq", description="The message bus.")


class HorizonTemplate(Template):
    replicas: int = _replicas()
    custom_service_config: UnsupportedText = unsupported("Settings in Python syntax.")


# --- compute: one set of programs for both cells


class NovaProgram(CamelModel):
    replicas: int = _replicas()
    custom_service_config: Ini = Field("", description=f"{INI} They apply to all programs of Nova.")


class NovaMetadata(NovaProgram):
    enabled: Literal[True] = Field(True, description="The metadata service of all cells.")


class NovaProxy(NovaProgram):
    enabled: bool = Field(True, description="Console in the browser by noVNC.")


class Cell(CamelModel):
    cell_database_instance: Database = Field("openstack", description="The database.")
    cell_message_bus_instance: Literal["rabbitmq", "rabbitmq-cell1"] = Field(
        "rabbitmq-cell1", description="The message bus; Nova uses rabbitmq-cell1 for all cells if it exists."
    )
    has_api_access: Literal[True] = Field(
        True, alias="hasAPIAccess", description="Whether cells have access to the API's database."
    )
    memcached_instance: Literal["memcached"] = Field("memcached", description="The cache.")
    cell_database_account: UnsupportedText = unsupported("Name of the database's user.")
    messaging_bus: Unsupported = unsupported("The cell's own message bus.")
    metadata_service_template: Unsupported = unsupported("Metadata service of the cell; one service serves all cells.")
    nova_compute_templates: Unsupported = unsupported("Compute services without a hypervisor.")


class CellZero(Cell):
    conductor_service_template: Unsupported = unsupported("Conductors of cell0; the conductors of cell1 serve it.")
    no_vnc_proxy_service_template: Unsupported = unsupported(
        "Consoles of cell0; it has no instances.", alias="noVNCProxyServiceTemplate"
    )


class CellOne(Cell):
    conductor_service_template: NovaProgram = Field(
        default_factory=lambda: NovaProgram(), description="The conductors."
    )
    no_vnc_proxy_service_template: NovaProxy = Field(
        default_factory=lambda: NovaProxy(), alias="noVNCProxyServiceTemplate", description="The console proxy."
    )


class Cells(CamelModel):
    cell0: CellZero = Field(
        default_factory=lambda: CellZero(), description="The cell of servers that were never scheduled."
    )
    cell1: CellOne = Field(default_factory=lambda: CellOne(), description="All computes.")


class NovaTemplate(Template):
    api_service_template: NovaProgram = Field(default_factory=lambda: NovaProgram(), description="The API.")
    metadata_service_template: NovaMetadata = Field(
        default_factory=lambda: NovaMetadata(), description="Metadata of instances."
    )
    scheduler_service_template: NovaProgram = Field(default_factory=lambda: NovaProgram(), description="The scheduler.")
    cell_templates: Cells = Field(default_factory=lambda: Cells(), description="The cells: cell0 and cell1.")
    keystone_instance: Literal["keystone"] = Field("keystone", description="The identity service.")
    api_database_instance: Database = Field("openstack", description="The database.")
    api_message_bus_instance: Bus = Field("rabbitmq", description="The message bus, if rabbitmq-cell1 does not exist.")
    messaging_bus: BusReference | None = Field(None, description="The message bus, if rabbitmq-cell1 does not exist.")
    api_database_account: UnsupportedText = unsupported("Name of the database's user.")

    def programs(self) -> dict[str, NovaProgram]:
        """Path in the template → program."""
        cell = self.cell_templates.cell1
        return {
            "apiServiceTemplate": self.api_service_template,
            "metadataServiceTemplate": self.metadata_service_template,
            "schedulerServiceTemplate": self.scheduler_service_template,
            "cellTemplates.cell1.conductorServiceTemplate": cell.conductor_service_template,
            "cellTemplates.cell1.noVNCProxyServiceTemplate": cell.no_vnc_proxy_service_template,
        }

    @model_validator(mode="after")
    def _one_file(self) -> NovaTemplate:
        said: dict[tuple[str, str], tuple[str, str | list[str]]] = {}
        for path, program in self.programs().items():
            for section, options in ini.sections(program.custom_service_config).items():
                for option, value in options.items():
                    where, before = said.setdefault((section, option), (path, value))
                    if before != value:
                        raise ValueError(
                            f"all programs of Nova share one nova.conf, but {where} and {path} set different values of "
                            f"[{section}] {option}"
                        )
        return self


# --- infrastructure


class GaleraTemplate(Pods):
    replicas: Literal[1, 3] = Field(1, description="Number of servers; two servers would stop if either one fails.")
    secret: OptionalObjectName = Field("", description="Ignored: Stackwright generates the password of root.")
    storage_class: OptionalObjectName = Field(
        "", description="Storage class of the volumes; empty for spec.storageClass."
    )
    storage_request: Quantity | None = Field(None, description="Size of each volume; absent: 5Gi.")
    root_database_account: UnsupportedText = unsupported("Name of the administrator.")
    custom_service_config: UnsupportedText = unsupported("Options of MariaDB.")
    disable_non_tls_listeners: UnsupportedFlag = unsupported("TLS alone.", alias="disableNonTLSListeners")
    log_to_disk: UnsupportedFlag = unsupported("Logs in files.")


class GaleraTemplates(CamelModel):
    openstack: GaleraTemplate = Field(default_factory=lambda: GaleraTemplate(), description="The only database.")


class RabbitPersistence(CamelModel):
    storage: Quantity | None = Field(None, description="Size of the volume; absent: 1Gi.")
    storage_class_name: OptionalObjectName = Field(
        "", description="Storage class of the volume; empty for spec.storageClass."
    )


class RabbitTemplate(Pods):
    replicas: Literal[1] = Field(1, description="Number of servers.")
    persistence: RabbitPersistence = Field(default_factory=lambda: RabbitPersistence(), description="The volume.")
    queue_type: UnsupportedText = unsupported("Kind of queues.")
    rabbitmq: Unsupported = unsupported("Options of RabbitMQ.")
    pod_override: Unsupported = unsupported("Services of single pods.")


class RabbitTemplates(CamelModel):
    rabbitmq: RabbitTemplate = Field(
        default_factory=lambda: RabbitTemplate(),
        description="The message bus of notifications, and of services without their own one.",
    )
    rabbitmq_cell1: RabbitTemplate | None = Field(
        None, alias="rabbitmq-cell1", description="Nova's own bus; absent: Nova shares rabbitmq."
    )


class MemcachedTemplate(Pods):
    replicas: int = Field(1, ge=1, le=32, description="Number of servers; all services use all of them.")


class MemcachedTemplates(CamelModel):
    memcached: MemcachedTemplate = Field(default_factory=lambda: MemcachedTemplate(), description="The only cache.")
