"""The form of a declaration: what a service needs, which secrets it has, which charts it is made of.

A declaration is all that the generic service controller knows of a service. `values` builds the base values of a
chart from the context; overrides of users are merged over them by the controller, never here.
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
    """A node of the cluster that a service runs on."""

    name: str
    address: str


class Settings(Model):
    """What every service may be told by the cloud it belongs to; a service alone lives with the defaults."""

    ingress: bool = Field(False, description="Public endpoints go through the ingress, with TLS.")
    network_policies: bool = Field(False, description="Let only declared connections through.")


@dataclass(frozen=True)
class Context:
    """What values are built from.

    settings  the parsed `spec.settings`, of the declaration's model
    images    image name → reference
    nodes     node label (key=value) → the nodes that have it
    pods      those of the service's charts, where the declaration wants to hear what they found out
    facts     data of the ConfigMap that the declaration names
    ceph_options  digest of pools and user that the Ceph gave it
    losses    how often its databases were lost and made anew, all together
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
        """Of a Service inside the cluster."""
        return f"http://{self.host(service)}:{port}{path}"

    def public_url(self, name: str, internal: str, path: str = "") -> str:
        """For users: https://<name>.<public domain><path>, or the internal URL of a cloud without ingress."""
        return f"https://{name}.{self.spec.public_domain}{path}" if self.settings.ingress else internal

    def labelled(self, label: tuple[str, str]) -> tuple[NodeRef, ...]:
        return self.nodes.get("=".join(label), ())


CONTROL_PLANE = ("openstack-control-plane", "enabled")
COMPUTE = ("openstack-compute-node", "enabled")
OPENVSWITCH = ("openvswitch", "enabled")
GATEWAY = ("openstack-gateway", "enabled")
PLACES = (CONTROL_PLANE, COMPUTE, OPENVSWITCH, GATEWAY)
PUBLIC_TLS = "openstack-public-tls"
INGRESS_CLASS = "openstack-ingress"


def members(count: int) -> Values:
    """`pod` of servers that vote. Their volumes are local, so two on one node would be lost together: never there."""
    apart = {"affinity": {"anti": {"type": {"default": "requiredDuringSchedulingIgnoredDuringExecution"}}}}
    return {"replicas": {"server": count}, **(apart if count > 1 else {})}


def placed(label: tuple[str, str], *components: str) -> Values:
    """The `labels` values that put components on the nodes with a label."""
    return {name: {"node_selector_key": label[0], "node_selector_value": label[1]} for name in components}


@dataclass(frozen=True)
class Chart:
    """A Helm release of the service, where `wanted`. Node overrides may address the components `daemonsets`."""

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
    """A generated Secret of the service; templates see its own fields.

    keypairs  names of SSH key pairs: <name> is the private one, <name>.pub the public one
    given     generated field → (Secret, key) of the user's own choice, taken once
    """

    name: str
    generated: tuple[str, ...] = ("password",)
    fixed: Mapping[str, str] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)
    keypairs: tuple[str, ...] = ()
    given: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Certificate:
    """A Secret with tls.crt, tls.key and ca.crt, issued by the cloud's own authority and renewed in time.

    names, addresses  what it is for
    source            field → (Secret, key) of the user's own one, which then is copied instead
    """

    name: str
    names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    source: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Keys:
    """A Fernet key repository, rotated by the operator."""

    name: str
    every: float  # seconds between turns
    max_active: int = 3


@dataclass(frozen=True)
class Contract:
    """What the service asks of another service: an object of a contract kind.

    name   of the object; the service's if absent, so a second one of a kind needs one
    gates  whether the release waits for it. What only runs later need not: its Secret is there at once
    """

    stage: str
    kind: Kind
    provider: str  # name of the service object that fulfils it
    provider_kind: Kind
    spec: Mapping[str, Any]
    name: str = ""
    gates: bool = True


@dataclass(frozen=True)
class Service:
    """service  the word for it in OpenStackDeployment (identity, database …)
    name     of its object in the namespace of the cloud
    group    which part of spec.common concerns it: openstack or infra
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
    labels: tuple[tuple[str, str], ...] = (CONTROL_PLANE,)  # of the nodes it needs, at least one each
    conf_files: Mapping[str, str] = field(default_factory=dict)  # chart → conf.<file> that takes options from Secrets
    # What its Pods found out about their nodes, as conditions to show; they do not count for Ready.
    told: Callable[[tuple[Object, ...]], tuple[Condition, ...]] | None = None
    # Where others have accounts at it: labels of the pods of its first chart that answer them, of which one is enough.
    serves: Mapping[str, str] = field(default_factory=dict)
    # Conditions that another controller writes on its object, and that count for Ready when they are there and bad.
    watched: tuple[str, ...] = ()
    # Names of the places where it keeps what users own; one that is not wanted any more is given up only when empty.
    backends: Callable[[Any], tuple[str, ...]] | None = None
    # The back end of a service that has one at a time; another one finds nothing of what users' machines use.
    driver: Callable[[Any], str] | None = None
    # ConfigMap with what others found out, e.g. URLs, and what is still missing of it, in words; empty for nothing.
    facts: str = ""
    lacks: Callable[[Context], str] = lambda context: ""
    # Words of the services that it cannot be without, as its settings are; a cloud gets them too.
    requires: Callable[[Any], tuple[str, ...]] | None = None

    @property
    def kind(self) -> Kind:
        return self.resource.KIND

    def application(self, name: str) -> str:
        """The label `application` of the pods of the first chart, by the name of the object."""
        return name if self.charts[0].own_name else self.charts[0].name

    def releases(self, name: str) -> frozenset[tuple[str, str]]:
        """Release and chart of all that the HelmBundle of an object of this kind may have."""
        return frozenset((chart.release(name), chart.name) for chart in self.charts)


def bundle_name(name: str) -> str:
    """Of the HelmBundle of a service object."""
    return f"openstack-{name}"
