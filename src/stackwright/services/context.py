"""Input of a service's values: the settings, images and nodes of the cloud, and labels of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from stackwright.api.meta import Model
from stackwright.api.services.kinds import ServiceSpec
from stackwright.core.plan import Object
from stackwright.core.settings import OPERATOR_NAMESPACE

Values = dict[str, Any]


@dataclass(frozen=True)
class NodeRef:
    """A node of the cluster that runs a service."""

    name: str
    address: str


class Settings(Model):
    """Settings that a cloud passes to each of its services; a service without a cloud uses the defaults."""

    ingress: bool = Field(False, description="Public endpoints go through the ingress, with TLS.")
    network_policies: bool = Field(False, description="Allow only declared connections.")


@dataclass(frozen=True)
class Context:
    """The input of `values`.

    settings  the parsed `spec.settings`, of the declaration's model
    images    image name → reference
    nodes     node label (key=value) → nodes that have it
    pods      pods of the service's charts, if the declaration uses their reports
    facts     data of the ConfigMap that the declaration names
    ceph_options  digest of the pools and user in the client's Secret
    losses    total number of losses of its databases
    operator  namespace of the operator
    pull_secrets  names of the Secrets with credentials of registries
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
    operator: str = OPERATOR_NAMESPACE
    pull_secrets: tuple[str, ...] = ()

    def host(self, service: str) -> str:
        return f"{service}.{self.namespace}.svc.{self.spec.cluster_domain}"

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
CLOUD_AUTHORITY = "openstack-ca"  # Secret of the cloud's own CA, in the cloud's namespace
INGRESS_CLASS = "openstack-ingress"


def placed(label: tuple[str, str], *components: str) -> Values:
    """The `labels` values that place components on the nodes with a label."""
    return {name: {"node_selector_key": label[0], "node_selector_value": label[1]} for name in components}
