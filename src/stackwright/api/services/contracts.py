"""The contract kinds: requests of one service to another, such as for a database, fulfilled by a Secret.

They replace the db-init, rabbit-init, ks-service, ks-endpoints and ks-user Jobs that charts usually run: the operator
creates the accounts, restores them if they are lost, and reports in conditions why it waits.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints

from stackwright.api.fields.lines import Line, OptionName, Short, Url
from stackwright.api.fields.naming import FIXED_RULE, Account, Format, InstanceName, ObjectName
from stackwright.api.meta import OURS, CamelModel, Column, Kind, Resource, Status
from stackwright.api.rules import Change, at

_READY = Column("Ready", '.status.conditions[?(@.type=="Ready")].status')
_MESSAGE = Column("Message", '.status.conditions[?(@.type=="Ready")].message')
_AGE = Column("Age", ".metadata.creationTimestamp", "date")

# A new name would request another account and leave the account with the old name behind.
FIXED: dict[str, Any] = {"x-kubernetes-validations": [FIXED_RULE]}

# Names of the providers' own databases and users; an account with such a name would replace or remove them.
_DATABASES = ("mysql", "information_schema", "performance_schema", "sys")
DatabaseName = Annotated[str, Account(_DATABASES)]
FurtherDatabase = Annotated[str, Account(_DATABASES, fixed=False)]
DatabaseUser = Annotated[str, Account(("root", "mysql", "public", "mariadb-sys"))]
MessagingUser = Annotated[str, Account(("admin", "guest"))]
ServiceUser = Annotated[str, Account(("admin",))]
ServiceName = Annotated[str, Account(("keystone",))]
# The domain of the administrator, and the roles that Keystone's bootstrap and all other services use.
DomainName = Annotated[str, Account(("default",))]
RoleName = Annotated[str, Account(("admin", "manager", "member", "reader", "service"), fixed=False, colons=True)]
VhostName = Annotated[str, Account()]
# Users of Ceph's daemons and tools, and those that Rook creates.
CephUser = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,31}$"),
    Account((
        "admin", "mon", "mgr", "osd", "mds", "rgw", "rbd-mirror", "rbd-mirror-peer", "crash", "ceph-exporter",
        "bootstrap-mds", "bootstrap-mgr", "bootstrap-osd", "bootstrap-rbd", "bootstrap-rbd-mirror", "bootstrap-rgw",
        "csi-rbd-node", "csi-rbd-provisioner", "csi-cephfs-node", "csi-cephfs-provisioner", "healthchecker",
    )),
]  # fmt: skip

# Allowed privileges on a database. GRANT OPTION is excluded: granted privileges would outlive the account.
PRIVILEGES = (
    "ALL", "ALL PRIVILEGES", "ALTER", "ALTER ROUTINE", "CREATE", "CREATE ROUTINE", "CREATE TEMPORARY TABLES",
    "CREATE VIEW", "DELETE", "DELETE HISTORY", "DELETE VERSIONING ROWS", "DROP", "EVENT", "EXECUTE", "INDEX", "INSERT",
    "LOCK TABLES", "REFERENCES", "SELECT", "SHOW VIEW", "TRIGGER", "UPDATE",
)  # fmt: skip
PRIVILEGE = Format(
    f"(?i:{'|'.join(PRIVILEGES)})", None, f"is not a privilege on a database; allowed: {', '.join(PRIVILEGES)}"
)
Privilege = Annotated[str, PRIVILEGE]


class ContractStatus(Status):
    digest: str = Field(
        "", description="Digest of the fulfilled spec; it differs from that of the spec while work is pending."
    )
    secret_name: str = Field("", description="The Secret with the result.")


class AccountStatus(ContractStatus):
    provider_uid: str = Field("", description="uid of the object that fulfilled it.")
    provider_since: str = Field(
        "", description="Start of the ready period of that object in which the account was last verified."
    )
    losses: int = Field(0, description="How often the provider lost the account; each time it was recreated.")


class DatabaseAccountSpec(CamelModel):
    instance: InstanceName = Field(
        "mariadb", description="Name of the MariaDB object in this namespace.", json_schema_extra=FIXED
    )
    database: DatabaseName = Field(description="Database to create; it is dropped only if dropDatabase is true.")
    username: DatabaseUser = Field(description="User to create, with all privileges on the database.")
    grants: list[Privilege] = Field(
        default_factory=lambda: ["ALL PRIVILEGES"],
        min_length=1,
        max_length=32,
        description="Privileges on the database, by their names in GRANT; GRANT OPTION is not allowed.",
    )
    secret_name: ObjectName = Field(
        description="Secret to write: username, password, host, port, database, connection, database.conf.",
    )
    section: str = Field(
        "database",
        pattern=r"^[a-z_]+(:[a-z_]+)?$",
        description="Section of the option `connection` in database.conf.",
    )
    additional_databases: list[FurtherDatabase] = Field(
        default_factory=list,
        max_length=32,
        description="Additional databases to create, with the same privileges for the same user.",
    )
    drop_database: bool = Field(
        False, description="Drop the databases with this object, except those that other accounts use."
    )


class DatabaseAccount(Resource):
    DESCRIPTION = "A database and a user in a MariaDB, and the Secret with the connection settings."
    KIND: ClassVar[Kind] = Kind(
        OURS, "v1alpha1", "DatabaseAccount", "databaseaccounts", short=("dba",),
        columns=(Column("Instance", ".spec.instance"), Column("Database", ".spec.database"), _READY, _MESSAGE, _AGE),
    )  # fmt: skip
    spec: DatabaseAccountSpec = Field(description="The requested account.")
    status: AccountStatus = Field(default_factory=AccountStatus, description="State of the account.")


class MessagingAccountSpec(CamelModel):
    instance: InstanceName = Field(
        "rabbitmq", description="Name of the RabbitMQ object in this namespace.", json_schema_extra=FIXED
    )
    vhost: VhostName = Field(description="Virtual host to create.")
    username: MessagingUser = Field(description="User to create, with all permissions on the virtual host.")
    secret_name: ObjectName = Field(
        description="Secret to write: username, password, host, port, vhost, transport_url, messaging.conf, "
        "notifications.conf.",
    )
    shared_vhost: bool = Field(
        False, description="Keep the virtual host when this object is deleted, because others use it, too."
    )


class MessagingAccount(Resource):
    DESCRIPTION = "A virtual host and a user in a RabbitMQ, and the Secret with its transport_url."
    KIND: ClassVar[Kind] = Kind(
        OURS, "v1alpha1", "MessagingAccount", "messagingaccounts", short=("mqa",),
        columns=(Column("Instance", ".spec.instance"), Column("Vhost", ".spec.vhost"), _READY, _MESSAGE, _AGE),
    )  # fmt: skip
    spec: MessagingAccountSpec = Field(description="The requested account.")
    status: AccountStatus = Field(default_factory=AccountStatus, description="State of the account.")


class KeystoneEndpoints(CamelModel):
    internal: Url = Field(description="URL for services of the cloud.")
    public: Url = Field(description="URL for users.")
    admin: Url | None = Field(None, description="URL for administrators; rarely needed.")


class KeystoneTrustee(CamelModel):
    domain: DomainName = Field(description="Domain to create; it stays, with its users, when this object is deleted.")
    username: ServiceUser = Field(
        description="User to create in this domain, with the role admin there and a password of its own."
    )


class KeystoneServiceSpec(CamelModel):
    instance: InstanceName = Field(
        "keystone", description="Name of the Keystone object in this namespace.", json_schema_extra=FIXED
    )
    service_name: ServiceName = Field(description="Name in the catalog, e.g. glance.")
    service_type: str = Field(
        pattern=r"^[a-z][a-z0-9-]*$", description="Type in the catalog, e.g. image.", json_schema_extra=FIXED
    )
    description: Line = Field("", description="Description in the catalog.")
    region: Short = Field("RegionOne", description="Region of the endpoints.")
    endpoints: KeystoneEndpoints = Field(description="The endpoints of the service.")
    username: ServiceUser = Field(description="Service user to create, in the project `service`.")
    roles: list[Line] = Field(
        default_factory=lambda: ["admin", "service"],
        min_length=1,
        max_length=32,
        description="Roles of the service user.",
    )
    additional_roles: list[RoleName] = Field(
        default_factory=list, max_length=32, description="Roles to create for users of the service; they are kept."
    )
    trustee: KeystoneTrustee | None = Field(
        None, description="The domain of users that the service itself creates, and its administrator."
    )
    sections: list[OptionName] = Field(
        default_factory=list,
        max_length=64,
        description="Sections of auth.conf for authentication at other services.",
    )
    secret_name: ObjectName = Field(
        description="Secret to write: username, password, auth_url, keystone_authtoken.conf, auth.conf; with a trustee "
        "also trustee.conf, and trustee_password of its own."
    )


TRUSTEE_STAYS = Change(
    "spec.trustee",
    "cannot be removed, because its user would be left behind; create another object",
    "!has(oldSelf.spec.trustee) || has(self.spec.trustee)",
    lambda old, new: at(old, "spec.trustee") is not None and at(new, "spec.trustee") is None,
)


class KeystoneService(Resource):
    DESCRIPTION = "A service, its endpoints and its user in Keystone, and the Secret with the credentials."
    CHANGES: ClassVar[tuple[Change, ...]] = (TRUSTEE_STAYS,)
    KIND: ClassVar[Kind] = Kind(
        OURS, "v1alpha1", "KeystoneService", "keystoneservices", short=("kss",),
        columns=(Column("Service", ".spec.serviceName"), Column("Type", ".spec.serviceType"), _READY, _MESSAGE, _AGE),
    )  # fmt: skip
    spec: KeystoneServiceSpec = Field(description="The requested account.")
    status: AccountStatus = Field(default_factory=AccountStatus, description="State of the account.")


PoolRole = Literal["images", "volumes", "backup", "vms", "ephemeral", "other"]


class CephPool(CamelModel):
    name: str = Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$", description="Requested name.")
    role: PoolRole = Field(description="Purpose; Ceph may assign another pool of this role.")
    read_only: bool = Field(False, description="Read-only access, for copy-on-write clones.")


class CephClientSpec(CamelModel):
    instance: InstanceName = Field(
        "ceph", description="Name of the Ceph object in this namespace.", json_schema_extra=FIXED
    )
    client: CephUser = Field(
        description="Name of the client: the field of Secret openstack-ceph-keys, e.g. cinder.",
    )
    pools: list[CephPool] = Field(min_length=1, max_length=32, description="Pools that the client needs.")
    options: dict[OptionName, dict[OptionName, Line]] = Field(
        default_factory=dict,
        description="section → option → user, secret_uuid or pool:<role>: the content of rbd.conf.",
    )
    secret_name: ObjectName = Field(
        description="Secret to write: ceph.conf, keyring, user, key, secret_uuid, pools.json, rbd.conf.",
    )


class CephClient(Resource):
    DESCRIPTION = "A client of a Ceph with its pools, and the Secret with the connection settings."
    KIND: ClassVar[Kind] = Kind(
        OURS, "v1alpha1", "CephClient", "cephclients", short=("cephc",),
        columns=(Column("Instance", ".spec.instance"), Column("Client", ".spec.client"), _READY, _MESSAGE, _AGE),
    )  # fmt: skip
    spec: CephClientSpec = Field(description="The requested account.")
    status: ContractStatus = Field(default_factory=ContractStatus, description="State of the account.")
