"""All our kinds in one tuple, for `stackwright crds` and the operator's watches."""

from __future__ import annotations

from stackwright.api.infra.capi import InfraResource
from stackwright.api.infra.cluster.cluster import OpenStackCluster, OpenStackClusterTemplate
from stackwright.api.infra.floatingippool import OpenStackFloatingIPPool
from stackwright.api.infra.identity import OpenStackClusterIdentity
from stackwright.api.infra.machine import OpenStackMachine, OpenStackMachineTemplate
from stackwright.api.infra.server import OpenStackServer
from stackwright.api.meta import OURS, Kind, Resource
from stackwright.api.services.contracts import CephClient, DatabaseAccount, KeystoneService, MessagingAccount
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.api.services.kinds import ServiceResource
from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.services.registry import SERVICES

SERVICE_KINDS: tuple[type[ServiceResource], ...] = tuple(declared.resource for declared in SERVICES)
CONTRACT_KINDS: tuple[type[Resource], ...] = (DatabaseAccount, MessagingAccount, KeystoneService, CephClient)
CLOUD_KINDS: tuple[type[Resource], ...] = (OpenStackDeployment, OpenStackControlPlane)
# Kinds of resources in a cloud, ours or any other.
INFRA_KINDS: tuple[type[InfraResource], ...] = (
    OpenStackServer,
    OpenStackFloatingIPPool,
    OpenStackClusterIdentity,
    OpenStackCluster,
    OpenStackClusterTemplate,
    OpenStackMachine,
    OpenStackMachineTemplate,
)
RESOURCES: tuple[type[Resource], ...] = (*CLOUD_KINDS, HelmBundle, *SERVICE_KINDS, *CONTRACT_KINDS, *INFRA_KINDS)
# Kinds that the admission webhook checks: those outside of our own group, as in the chart's webhook.yaml.
ADMITTED: tuple[type[Resource], ...] = tuple(resource for resource in RESOURCES if resource.KIND.group != OURS)
# Kinds without resources of their own: other objects read them. They have no condition Ready.
WITHOUT_READY: tuple[type[Resource], ...] = (
    OpenStackClusterIdentity,
    OpenStackClusterTemplate,
    OpenStackMachineTemplate,
)

BY_KIND: dict[str, type[Resource]] = {resource.KIND.kind: resource for resource in RESOURCES}


def kind_of(name: str) -> Kind:
    return BY_KIND[name].KIND
