"""The types of a service declaration: its charts, Secrets, contracts and dependencies.

The declaration is all that the generic service controller knows about a service. `values` builds the base values of a
chart from the context; the controller merges overrides of users over them, the declaration never does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from stackwright.api.meta import Kind, Model
from stackwright.api.services.kinds import ServiceResource, ServiceSpec
from stackwright.core.conditions import Condition
from stackwright.core.plan import Object

Values = dict[str, Any]


@dataclass(frozen=True)
class NodeRef:
    """A node of the cluster that runs a service."""

    name: str
    address: str


class Settings(Model):
    """Settings that a cloud passes to each of its services; a service without a cloud uses the defaults."""

    ingress: bool = Field(False, description="Public endpoints go through the ingress, with TLS.")
    network_policies: bool = Field(False, description="Let only declared connections through.")


@dataclass(frozen=True)
class Context:
    """The input of `values`.

    settings  the parsed `spec.settings`, of the declaration's model
    images    image name → reference
    nodes     node label (key=value) → nodes that have it
    pods      pods of the service's charts, if the declaration uses their reports
    facts     data of the ConfigMap that the declaration names
    ceph_options  digest of the pools and user in the client's Secret
    losses    number of losses of its databases, in total
    operator  namespace of the operator
    """

    name: str
    namespace: str
    spec: ServiceSpec
    images: Mapping[str, str]
    settings: Any = field(default_factory=Settings)
    nodes: Mapping[str, tuple[NodeRef, ...]] = field(default_factory=dict)
    pods: tuple[Object, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    ceph_options: str = ""
    losses: int = 0
    operator: str = "stackwright"

    def host(self, service: str) -> str:
        return f"{service}.{self.namespace}.svc.{self.spec.cluster_domain}"

    def image(self, name: str) -> str:
        return self.images.get(name, f"stackwright.local/{name}:missing")

    def url(self, service: str, port: int, path: str = "") -> str:
        """The URL of a Service inside the cluster."""
        return f"http://{self.host(service)}:{port}{path}"

    def public_url(self, name: str, internal: str, path: str = "") -> str:
        """The URL for users: https://<name>.<public domain><path>, or the internal URL in a cloud without ingress."""
        return f"https://{name}.{self.spec.public_domain}{path}" if self.settings.ingress else internal

    def labelled(self, label: tuple[str, str]) -> tuple[NodeRef, ...]:
        return self.nodes.get("=".join(label), ())


CONTROL_PLANE = ("openstack-control-plane", "enabled")
COMPUTE = ("openstack-compute-node", "enabled")
OPENVSWITCH = ("openvswitch", "enabled")
GATEWAY = ("openstack-gateway", "enabled")
PLACES = (CONTROL_PLANE, COMPUTE, OPENVSWITCH, GATEWAY)
PUBLIC_TLS = "openstack-public-tls"
CLOUD_AUTHORITY = "openstack-ca"  # of the cloud's own authority; in the cloud's namespace
INGRESS_CLASS = "openstack-ingress"


def placed(label: tuple[str, str], *components: str) -> Values:
    """The `labels` values that place components on the nodes with a label."""
    return {name: {"node_selector_key": label[0], "node_selector_value": label[1]} for name in components}


@dataclass(frozen=True)
class Chart:
    """A Helm release of the service, if `wanted`. Node overrides may address the components in `daemonsets`."""

    name: str
    values: Callable[[Context], Values]
    daemonsets: tuple[str, ...] = ()

    wanted: Callable[[Context], bool] = lambda context: True
    in_ceph: tuple[str, ...] = ()  # components that read names of pools and users in Ceph when they start
    voters: str = ""  # component whose servers vote, each with a volume: they never get fewer
    claims: tuple[str, ...] = ()  # components that have volumes, of the size `volume.size`
    receives: bool = False  # a server without the newest data receives all that is in the volume of another one first
    own_name: bool = False  # several objects of the kind may be side by side, each with a release of its name
    options: tuple[str, ...] = ()  # files below `conf` that are made of options, each of which is one line

    def release(self, context_name: str) -> str:
        return f"openstack-{context_name if self.own_name else self.name}"


@dataclass(frozen=True)
class Secret:
    """A generated Secret of the service; its templates use its own fields.

    keypairs  names of SSH key pairs: <name> is the private key, <name>.pub the public key
    given     generated field → (Secret, key) with the user's value, read once
    """

    name: str
    generated: tuple[str, ...] = ("password",)
    fixed: Mapping[str, str] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)
    keypairs: tuple[str, ...] = ()
    given: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Certificate:
    """A Secret with tls.crt, tls.key and ca.crt, issued by the cloud's own authority and renewed before it expires.

    names, addresses  subject alternative names
    source            field → (Secret, key) of the user's certificate, which is copied instead
    """

    name: str
    names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    source: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Keys:
    """A Fernet key repository, rotated by the operator."""

    name: str
    every: float  # seconds between rotations
    max_active: int = 3


@dataclass(frozen=True)
class Contract:
    """A request of the service to another service: an object of a contract kind.

    name   name of the object; default: that of the service, so a second contract of a kind needs its own
    gates  whether the release waits for it; without that, pods start with its Secret and fulfilment may come later
    """

    stage: str
    kind: Kind
    provider: str  # name of the service object that fulfils the contract
    provider_kind: Kind
    spec: Mapping[str, Any]
    name: str = ""
    gates: bool = True


@dataclass(frozen=True)
class Service:
    """service  its name in OpenStackDeployment (identity, database …)
    name     name of its object in the namespace of the cloud
    group    the part of spec.common that applies to it: openstack or infra
    settings the model of `spec.settings`
    """

    service: str
    name: str
    group: str
    resource: type[ServiceResource]
    charts: tuple[Chart, ...]
    secrets: Callable[[Context], tuple[Secret, ...]] = lambda context: ()
    keys: Callable[[Context], tuple[Keys, ...]] = lambda context: ()
    contracts: Callable[[Context], tuple[Contract, ...]] = lambda context: ()
    certificates: Callable[[Context], tuple[Certificate, ...]] = lambda context: ()
    settings: type[Settings] = Settings
    labels: tuple[tuple[str, str], ...] = (CONTROL_PLANE,)  # labels of required nodes, at least one node each
    conf_files: Mapping[str, str] = field(default_factory=dict)  # chart → conf.<file> that may use Secrets
    # Conditions from the reports of its pods about their nodes; they do not count for Ready.
    told: Callable[[tuple[Object, ...]], tuple[Condition, ...]] | None = None
    # Where others have accounts at it: labels of the pods of its first chart that answer them, of which one is enough.
    serves: Mapping[str, str] = field(default_factory=dict)
    # Conditions that another controller writes on its object, and that count for Ready when they are there and bad.
    watched: tuple[str, ...] = ()
    # Names of its stores of users' data; a store that is no longer wanted is removed only when it is empty.
    backends: Callable[[Any], tuple[str, ...]] | None = None
    # The back end of a service with a single one; another back end does not have the data that users' servers use.
    driver: Callable[[Any], str] | None = None
    # ConfigMap with facts from other controllers (for example URLs), and a text about missing facts; empty if none.
    facts: str = ""
    lacks: Callable[[Context], str] = lambda context: ""
    # Names of the services that it requires with its settings; the cloud adds them.
    requires: Callable[[Any], tuple[str, ...]] | None = None

    @property
    def kind(self) -> Kind:
        return self.resource.KIND

    def application(self, name: str) -> str:
        """The label `application` of the pods of the first chart, by the name of the object."""
        return name if self.charts[0].own_name else self.charts[0].name

    def releases(self, name: str) -> frozenset[tuple[str, str]]:
        """(release, chart) pairs that the HelmBundle of an object of this kind may contain."""
        return frozenset((chart.release(name), chart.name) for chart in self.charts)


def bundle_name(name: str) -> str:
    """Name of the HelmBundle of a service object."""
    return f"openstack-{name}"
