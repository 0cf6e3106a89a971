"""The form of a declaration: what a service needs, which secrets it has, which charts it is made of.

A declaration is all that the generic service controller knows of a service. `values` builds the base values of a
chart from the context; overrides of users are merged over them by the controller, never here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.api.meta import Kind
from stackwright.api.services import ServiceResource, ServiceSpec

Values = dict[str, Any]


@dataclass(frozen=True)
class Context:
    """What values are built from. `images` maps image names to references."""

    name: str
    namespace: str
    spec: ServiceSpec
    images: Mapping[str, str]

    def host(self, service: str) -> str:
        return f"{service}.{self.namespace}.svc.{self.spec.cluster_domain}"

    def image(self, name: str) -> str:
        return self.images.get(name, f"stackwright.local/{name}:missing")


CONTROL_PLANE = ("openstack-control-plane", "enabled")


def placed(label: tuple[str, str], *components: str) -> Values:
    """The `labels` values that put components on the nodes with a label."""
    return {name: {"node_selector_key": label[0], "node_selector_value": label[1]} for name in components}


@dataclass(frozen=True)
class Chart:
    """A Helm release of the service. `daemonsets` are the components that node overrides may address."""

    name: str
    values: Callable[[Context], Values]
    daemonsets: tuple[str, ...] = ()

    @property
    def release(self) -> str:
        return f"openstack-{self.name}"


@dataclass(frozen=True)
class Secret:
    """A generated Secret of the service; templates see its own fields."""

    name: str
    generated: tuple[str, ...] = ("password",)
    fixed: Mapping[str, str] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Keys:
    """A Fernet key repository, rotated by the operator."""

    name: str
    every: float  # seconds between turns
    max_active: int = 3


@dataclass(frozen=True)
class Contract:
    """What the service asks of another service: an object of a contract kind, ready before the release."""

    stage: str
    kind: Kind
    provider: str  # name of the service object that fulfils it
    provider_kind: Kind
    spec: Mapping[str, Any]


@dataclass(frozen=True)
class Service:
    """service  the word for it in OpenStackDeployment (identity, database …)
    name     of its object in the namespace of the cloud
    group    which part of spec.common concerns it: openstack or infra
    settings what `spec.settings` may hold, with the type of each
    """

    service: str
    name: str
    group: str
    resource: type[ServiceResource]
    charts: tuple[Chart, ...]
    secrets: Callable[[Context], tuple[Secret, ...]] = lambda context: ()
    keys: Callable[[Context], tuple[Keys, ...]] = lambda context: ()
    contracts: Callable[[Context], tuple[Contract, ...]] = lambda context: ()
    settings: Mapping[str, type] = field(default_factory=dict)
    labels: tuple[tuple[str, str], ...] = (CONTROL_PLANE,)  # of the nodes it needs, at least one each
    conf_files: Mapping[str, str] = field(default_factory=dict)  # chart → conf.<file> that takes options from Secrets

    @property
    def kind(self) -> Kind:
        return self.resource.KIND
