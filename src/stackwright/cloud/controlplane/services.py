"""Templates of OpenStack services in an OpenStackControlPlane."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from stackwright.api.errors import name_of
from stackwright.api.fields import ini
from stackwright.api.fields.lines import Line, Short
from stackwright.api.fields.naming import OptionalObjectName, SecretKeyName
from stackwright.api.fields.shared import Quantity
from stackwright.api.meta import CamelModel
from stackwright.api.reference import ANY
from stackwright.api.rules import at
from stackwright.api.support import (
    Unsupported,
    UnsupportedFlag,
    UnsupportedNumber,
    UnsupportedText,
    unsupported,
    unused,
)
from stackwright.cloud.controlplane.pods import (
    INI,
    PROGRAM,
    Bus,
    BusReference,
    Configured,
    Database,
    Ini,
    Pods,
    Template,
    replicas_field,
)
from stackwright.services.designate.features import ServerName
from stackwright.services.nova import SERVICE as NOVA


class AdminSelector(CamelModel):
    UNDECLARED: ClassVar[str] = "service"
    admin: SecretKeyName = Field("AdminPassword", description="Key of the administrator's password.")
    database: UnsupportedText = unsupported("Key of the database's password.")


class KeystoneTemplate(Configured):
    UNDECLARED: ClassVar[str] = "trustFlushArgs trustFlushSchedule trustFlushSuspend"
    secret: OptionalObjectName = Field(
        "", description="Secret with the administrator's password; empty for spec.secret."
    )
    replicas: int = replicas_field()
    region: Short = Field("regionOne", min_length=1, description="Region name in the catalog.")
    admin_project: Line = Field("admin", min_length=1, description="Project of the administrator.")
    admin_user: Literal["admin"] = Field("admin", description="Name of the administrator.")
    password_selectors: AdminSelector = Field(default_factory=lambda: AdminSelector(), description="Keys of passwords.")
    enable_secure_rbac: Literal[True] = Field(
        True, alias="enableSecureRBAC", description="Scopes are always enforced; only true is allowed."
    )
    fernet_max_active_keys: UnsupportedNumber = unsupported("Number of keys, which follows from the token lifetime.")
    fernet_rotation_days: UnsupportedNumber = unsupported(
        "Rotation interval of keys, which follows from the token lifetime."
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
    UNDECLARED: ClassVar[str] = f"{PROGRAM} apiTimeout imageCache storage"
    replicas: int = replicas_field(1)
    type: Literal["single"] = Field("single", description="One API for users and services.")
    custom_service_config: Ini = Field("", description=INI)


class GlanceApis(CamelModel):
    UNDECLARED: ClassVar[str] = ANY
    default: GlanceApi = Field(default_factory=lambda: GlanceApi(), description="The API.")


class GlanceTemplate(Configured):
    storage: GlanceStorage | None = Field(None, description="The volume for images.")
    keystone_endpoint: Literal["default"] = Field("default", description="The API in the catalog.")
    glance_apis: GlanceApis = Field(default_factory=lambda: GlanceApis(), alias="glanceAPIs", description="The APIs.")
    quotas: Unsupported = unsupported("Quotas.")
    image_cache: Unsupported = unsupported("Cache of images.")
    db_purge: Unsupported = unsupported("Clean-up of the database.")


class PlacementTemplate(Configured):
    replicas: int = replicas_field()


class NeutronTemplate(Configured):
    replicas: int = replicas_field()
    core_plugin: Literal["ml2"] = Field("ml2", description="Neutron's core plugin.")
    ml2_mechanism_drivers: list[Literal["openvswitch", "ovn"]] = Field(
        default_factory=list,
        max_length=1,
        description="ovn for OVN; openvswitch or an empty list for Open vSwitch with agents.",
    )
    messaging_bus: BusReference | None = Field(None, description="The message bus.")
    rabbit_mq_cluster_name: Bus = Field("rabbitmq", description="The message bus.")


class HorizonTemplate(Template):
    replicas: int = replicas_field()
    custom_service_config: UnsupportedText = unsupported("Settings in Python syntax.")


class HeatProgram(Pods):
    UNDECLARED: ClassVar[str] = f"{PROGRAM} apiTimeout passwordSelectors"
    replicas: int = replicas_field()
    custom_service_config: UnsupportedText = unsupported(
        "Options of one program; those of heat.template are for all programs."
    )


class HeatTemplate(Configured):
    heat_api: HeatProgram = Field(default_factory=lambda: HeatProgram(), alias="heatAPI", description="The API.")
    heat_cfn_api: HeatProgram = Field(
        default_factory=lambda: HeatProgram(), alias="heatCfnAPI", description="The API in the form of CloudFormation."
    )
    heat_engine: HeatProgram = Field(default_factory=lambda: HeatProgram(), description="The engines.")
    messaging_bus: BusReference | None = Field(None, description="The message bus.")
    rabbit_mq_cluster_name: Bus = Field("rabbitmq", description="The message bus.")


SecretStore = Literal["simple_crypto"]
SECRET_STORES: list[SecretStore] = ["simple_crypto"]


class BarbicanProgram(Pods):
    UNDECLARED: ClassVar[str] = f"{PROGRAM} apiTimeout enableSecureRBAC"
    replicas: int = replicas_field()
    custom_service_config: UnsupportedText = unsupported(
        "Options of one program; those of barbican.template are for all programs."
    )


class KeystoneListener(Pods):
    UNDECLARED: ClassVar[str] = f"{PROGRAM} apiTimeout"
    replicas: int = unused(0, "Keystone does not notify Barbican; secrets of deleted projects stay.")
    custom_service_config: UnsupportedText = unsupported("Its options.")


class BarbicanTemplate(Configured):
    barbican_api: BarbicanProgram = Field(
        default_factory=lambda: BarbicanProgram(), alias="barbicanAPI", description="The API."
    )
    barbican_worker: BarbicanProgram = Field(default_factory=lambda: BarbicanProgram(), description="The workers.")
    barbican_keystone_listener: KeystoneListener | None = Field(None, description="Listener to Keystone.")
    enabled_secret_stores: list[SecretStore] = Field(
        default_factory=lambda: list(SECRET_STORES), min_length=1, max_length=1, description="Stores of secrets."
    )
    global_default_secret_store: SecretStore = Field("simple_crypto", description="The default store.")
    simple_crypto_backend_secret: OptionalObjectName = unused("", "Stackwright generates the keys of Simple Crypto.")
    pkcs11: Unsupported = unsupported("A hardware security module (PKCS#11).")
    messaging_bus: BusReference | None = Field(None, description="The message bus.")
    rabbit_mq_cluster_name: Bus = Field("rabbitmq", description="The message bus.")


class DesignateProgram(Pods):
    UNDECLARED: ClassVar[str] = f"{PROGRAM} apiTimeout passwordSelectors"
    replicas: int = replicas_field()
    custom_service_config: UnsupportedText = unsupported(
        "Options of one program; those of designate.template are for all programs."
    )


def _designate(name: str, description: str) -> Any:
    return Field(default_factory=lambda: DesignateProgram(), alias=f"designate{name}", description=description)


class NsRecord(CamelModel):
    hostname: ServerName = Field(description="Name of a name server.")
    priority: int = Field(ge=0, le=65535, description="Its place; the lowest is the first.")


class DesignateTemplate(Configured):
    UNDECLARED: ClassVar[str] = "bindType designateNetworkAttachment"
    designate_api: DesignateProgram = _designate("API", "The API.")
    designate_central: DesignateProgram = _designate("Central", "The processes that change the database.")
    designate_mdns: DesignateProgram = _designate("Mdns", "The servers from which name servers get zones.")
    designate_producer: DesignateProgram = _designate("Producer", "The processes with periodic tasks.")
    designate_worker: DesignateProgram = _designate("Worker", "The processes that change name servers.")
    ns_records: list[NsRecord] = Field(
        default_factory=list, max_length=13, description="NS records of all zones; default: ns1.<public domain>."
    )
    messaging_bus: BusReference | None = Field(None, description="The message bus.")
    rabbit_mq_cluster_name: Bus = Field("rabbitmq", description="The message bus.")
    backend_type: UnsupportedText = unsupported("Name servers other than PowerDNS.")
    backend_mdns_server_protocol: UnsupportedText = unsupported("Protocol of transfers, which is TCP.")
    designate_backendbind9: Unsupported = unsupported("BIND; PowerDNS answers queries.")
    designate_unbound: Unsupported = unsupported("The resolver Unbound.")
    redis_service_name: UnsupportedText = unsupported("Redis; etcd coordinates the processes.")


# --- compute: one set of programs for both cells

_IMAGES = ("api", "compute", "conductor", "metadata", "novncproxy", "scheduler")


class NovaProgram(CamelModel):
    UNDECLARED: ClassVar[str] = PROGRAM
    replicas: int = replicas_field()
    custom_service_config: Ini = Field("", description=f"{INI} They apply to all programs of Nova.")


class NovaMetadata(NovaProgram):
    enabled: Literal[True] = Field(True, description="The metadata service of all cells.")


class NovaProxy(NovaProgram):
    enabled: bool = Field(True, description="Console in the browser by noVNC.")


class Cell(CamelModel):
    UNDECLARED: ClassVar[str] = "dbPurge nodeSelector topologyRef"
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
    UNDECLARED: ClassVar[str] = ANY
    cell0: CellZero = Field(
        default_factory=lambda: CellZero(), description="The cell of servers that were never scheduled."
    )
    cell1: CellOne = Field(default_factory=lambda: CellOne(), description="All computes.")


class NovaTemplate(Template):
    UNDECLARED: ClassVar[str] = f"customServiceConfig {' '.join(f'{name}ContainerImageURL' for name in _IMAGES)}"
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

    @model_validator(mode="after")
    def _one_file(self) -> NovaTemplate:
        said: dict[tuple[str, str], tuple[str, str | list[str]]] = {}
        raw = self.model_dump(by_alias=True)
        for path in NOVA.programs:
            for section, options in ini.sections(at(raw, path)["customServiceConfig"]).items():
                for option, value in options.items():
                    where, before = said.setdefault((section, option), (path, value))
                    if before != value:
                        raise ValueError(
                            f"all programs of Nova share one nova.conf, but {where} and {path} set different values of "
                            f"[{name_of(section)}] {name_of(option)}"
                        )
        return self
