"""Names of the resources of a cluster in its record."""

from __future__ import annotations

from stackwright.core.openstack.resources import ResourceKey

NETWORK: ResourceKey = ("network", "cluster")
SUBNET: ResourceKey = ("subnet", "cluster")
ROUTER: ResourceKey = ("router", "cluster")
INTERFACE: ResourceKey = ("port", "router")
API: ResourceKey = ("floating-ip", "api")
BASTION: ResourceKey = ("floating-ip", "bastion")
GROUPS = ("controlplane", "worker", "bastion")


def group(name: str) -> ResourceKey:
    return ("security-group", name)
