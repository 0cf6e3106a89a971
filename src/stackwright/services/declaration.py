"""The declaration of a service: all its properties, as data and pure functions.

All lists of services, and all that other modules use of a service, are derived from the declarations in `registry`.
`values` builds the base values of a chart from the context; the controller merges users' overrides over them, the
declaration never does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from stackwright.api.meta import Kind, Model
from stackwright.api.services.kinds import ServiceResource
from stackwright.core.conditions import Condition
from stackwright.core.helm.sensitive import Sections
from stackwright.core.plan import Object
from stackwright.services.cloud import Cloud
from stackwright.services.context import CONTROL_PLANE, Context, Settings, Values

Preset = Literal["core", "compute"]  # `compute` contains `core`
Source = str | tuple[str, str]
"""The source of connections: an application, a node label for pods on the host network, or the operator."""

OPERATOR = "operator"
INGRESS = "ingress"


@dataclass(frozen=True)
class Listener:
    """Ports of a component of a chart, to which other pods may connect.

    ports    of TCP; empty without `udp`: all
    udp      ports of UDP
    anyone   whether everybody may connect, also from outside of the cluster
    name     the name by which charts declare connections to it in `calls`
    sources  sources without such a declaration: the ingress, the operator, clients of users
    """

    component: str
    ports: tuple[int, ...] = ()
    name: str = ""
    sources: tuple[Source, ...] = ()
    udp: tuple[int, ...] = ()
    anyone: bool = False


@dataclass(frozen=True)
class Chart:
    """A Helm release of the service, if `wanted`. Node overrides may address the components in `daemonsets`.

    images  settings → (key in `images.tags` of the chart → image); not part of `values`
    wanted  settings → whether the release exists
    """

    name: str
    values: Callable[[Context], Values]
    daemonsets: tuple[str, ...] = ()

    images: Callable[[Any], Mapping[str, str]] = lambda settings: {}
    wanted: Callable[[Any], bool] = lambda settings: True
    in_ceph: tuple[str, ...] = ()  # components that read names of Ceph's pools and users at start
    voters: str = ""  # component whose servers vote, each with a volume: their number never decreases
    claims: tuple[str, ...] = ()  # components that have volumes, of the size `volume.size`
    receives: bool = False  # a starting server without the newest data first receives all data of another one
    own_name: bool = False  # several objects of the kind may exist, each with a release of its name
    replaced: Mapping[str, str] = field(default_factory=dict)  # component → what its replaced pods do not finish
    options: tuple[str, ...] = ()  # files below `conf` that consist of options, one per line
    listens: tuple[Listener, ...] = ()  # of each component with a NetworkPolicy; none for clients only
    calls: tuple[str, ...] = ()  # names of the listeners to which its pods connect
    confined: bool = False  # pods of its listening components connect to nothing else, except DNS
    host_calls: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)  # label of nodes → the same

    @property
    def voters_field(self) -> str:
        """The path of the number of voting servers in the values of the chart."""
        return f"pod.replicas.{self.voters}"

    def release(self, context_name: str) -> str:
        return f"openstack-{context_name if self.own_name else self.name}"


@dataclass(frozen=True)
class Secret:
    """A generated Secret of the service; its templates use its own fields.

    keypairs  names of SSH key pairs: <name> is the private key, <name>.pub the public key
    given     generated field → (Secret, key) with the user's value, read once
    owner     (kind, name) of the object with which it is deleted; default: that of the service. A key of data in a
              database must live as long as the database, which outlives the service
    """

    name: str
    generated: tuple[str, ...] = ("password",)
    fixed: Mapping[str, str] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)
    keypairs: tuple[str, ...] = ()
    given: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    owner: tuple[Kind, str] | None = None


@dataclass(frozen=True)
class Certificate:
    """A Secret with tls.crt, tls.key and ca.crt, issued by the cloud's own CA and renewed before it expires.

    names, addresses  subject alternative names
    subject           common name, if servers identify clients by it; default: the first of the names
    server_only       whether no server accepts it as a client's certificate
    source            field → (Secret, key) of the user's certificate, which is copied instead
    """

    name: str
    names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    subject: str = ""
    server_only: bool = False
    source: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Keys:
    """A Fernet key repository that the operator rotates.

    every  seconds between rotations
    owner  as of a Secret
    """

    name: str
    every: float
    max_active: int = 3
    owner: tuple[Kind, str] | None = None


@dataclass(frozen=True)
class Contract:
    """A request of the service to another service: an object of a contract kind.

    name   name of the object; default: that of the service, so a second contract of a kind needs another name
    gates  whether the release waits for it; otherwise, pods start with its Secret, and it may be fulfilled later
    """

    stage: str
    kind: Kind
    provider: str  # name of the service object that fulfils the contract
    provider_kind: Kind
    spec: Mapping[str, Any]
    name: str = ""
    gates: bool = True


@dataclass(frozen=True)
class NodeAgent:
    """A process on nodes that registers itself at the service under the name of its node.

    binary     its program, as the service lists it
    component  label of its pods
    label      label of its nodes
    wanted     settings → whether nodes have it
    """

    binary: str
    component: str
    label: tuple[str, str]
    wanted: Callable[[Any], bool] = lambda settings: True


@dataclass(frozen=True)
class AgentList:
    """The list of a service's agents in its API.

    path   of the request, at the public host of the service
    name   of the list in the response
    state  item → whether the agent is up, and whether it is enabled
    """

    path: str
    name: str
    state: Callable[[Mapping[str, Any]], tuple[bool, bool]]


@dataclass(frozen=True)
class Public:
    """A public host, <host>.<public domain>, and a path that needs no token."""

    host: str
    path: str = "/"


@dataclass(frozen=True)
class Features:
    """The part of `spec.features` of an OpenStackDeployment that a service owns.

    name      name of the field; default: that of the service
    settings  (features, cloud) → settings of the service; default: the values that the user set, and no defaults,
              because a default that changes with Stackwright must not change every object
    """

    model: type[Model]
    description: str
    name: str = ""
    settings: Callable[[Any, Cloud], Values] = lambda features, cloud: set_fields(features)


@dataclass(frozen=True)
class Service:
    """The names and models of a service, then its charts and objects, then its properties for the rest of Stackwright.

    service   its name in OpenStackDeployment (identity, database …)
    name      name of its object in the namespace of the cloud
    group     the part of spec.common that applies to it: openstack or infra
    resource  the model of its kind;  settings  the model of `spec.settings`
    """

    service: str
    name: str
    group: Literal["openstack", "infra"]
    resource: type[ServiceResource]
    charts: tuple[Chart, ...]
    settings: type[Settings] = Settings
    features: Features | None = None
    # Settings from the surrounding cloud.
    from_cloud: Callable[[Cloud], Values] = lambda cloud: {}
    secrets: Callable[[Context], tuple[Secret, ...]] = lambda context: ()
    keys: Callable[[Context], tuple[Keys, ...]] = lambda context: ()
    contracts: Callable[[Context], tuple[Contract, ...]] = lambda context: ()
    certificates: Callable[[Context], tuple[Certificate, ...]] = lambda context: ()
    node_labels: tuple[tuple[str, str], ...] = (CONTROL_PLANE,)  # labels of required nodes, at least one node each
    # Label of nodes → kernel modules that make the service faster there; it also runs without them.
    modules: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    conf_files: Mapping[str, str] = field(default_factory=dict)  # chart → conf.<file> that may use Secrets
    # Settings → options of such a file of the first chart whose values users have in Secrets.
    sensitive: Callable[[Any], Sections] = lambda settings: {}
    # Settings → further (Secret, key) of users, which its pods mount.
    mounted: Callable[[Any], tuple[tuple[str, str], ...]] = lambda settings: ()
    # Names of the services that it requires with these settings; the cloud adds them.
    requires: Callable[[Any], tuple[str, ...]] | None = None
    # Conditions from its pods' reports about their nodes; they do not affect Ready.
    pod_conditions: Callable[[tuple[Object, ...]], tuple[Condition, ...]] | None = None
    # If it serves accounts: labels of the pods of its first chart that serve them; one ready pod is enough.
    serves: Mapping[str, str] = field(default_factory=dict)
    # Conditions that another controller sets on its object; they affect Ready if they exist and are False.
    external_conditions: tuple[str, ...] = ()
    # Names of its stores of users' data. A store that the spec no longer requests is removed only when it is empty.
    backends: Callable[[Any], tuple[str, ...]] | None = None
    # The same by the values of its first chart, as they are in its HelmBundle.
    deployed_backends: Callable[[Mapping[str, Any]], Iterable[str]] = lambda values: ()
    # Agents whose records it keeps until they are deleted: they are, when their nodes left the cloud.
    agents: tuple[NodeAgent, ...] = ()
    agent_list: AgentList | None = None  # for the agents that `status` shows
    lost_with_object: str = ""  # what users lose when its object is deleted, beside its data; {} is the object
    # The back end of a service with a single one; another back end does not have the data that users' servers use.
    driver: Callable[[Any], str] | None = None
    # The place of users' data outside the cloud, without secrets; empty if there is none.
    outside: Callable[[Any], str] = lambda settings: ""
    # ConfigMap with facts from other controllers, such as URLs, and a text about missing facts; empty without facts.
    facts: str = ""
    missing_facts: Callable[[Context], str] = lambda context: ""
    presets: tuple[Preset, ...] = ()  # presets that include it
    panels: str = ""  # Debian's package with its panels of Horizon, in the image of Horizon, if Horizon itself has none
    public: tuple[Public, ...] = ()  # the first is the host of its API or web page
    logging: bool = False  # whether features.logging contains its level
    cleanup: bool = False  # whether features.database.cleanup contains its schedule
    own_bus: bool = False  # whether features.messaging may give it a RabbitMQ of its own
    section: str = ""  # its section of an OpenStackControlPlane
    # Path of a program in the template of this section → component of the chart that has the name of the service.
    programs: Mapping[str, str] = field(default_factory=dict)
    # Path in the spec of an OpenStackDeployment → accepted value → the end-to-end test that uses it: see tested.py.
    tested: Mapping[str, Mapping[str | bool, str]] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        return self.resource.KIND

    def data_keys(self, context: Context) -> list[tuple[Secret | Keys, tuple[Kind, str]]]:
        """Its Secrets with keys of data, each with its owner."""
        made: tuple[Secret | Keys, ...] = (*self.secrets(context), *self.keys(context))
        return [(each, each.owner) for each in made if each.owner]

    def application(self, name: str) -> str:
        """The label `application` of the pods of the first chart, by the name of the object."""
        return name if self.charts[0].own_name else self.charts[0].name

    def releases(self, name: str) -> frozenset[tuple[str, str]]:
        """(release, chart) pairs that the HelmBundle of an object of this kind may contain."""
        return frozenset((chart.release(name), chart.name) for chart in self.charts)


def set_fields(features: Model) -> Values:
    """The values that a user set in the features of a service."""
    return features.model_dump(mode="json", exclude_unset=True)


def bundle_name(name: str) -> str:
    """Name of the HelmBundle of a service object."""
    return f"openstack-{name}"
