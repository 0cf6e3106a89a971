"""Converts the record of a cluster to its status and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.controllers.infra.managed_resources import Record, listed, unlisted
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


def record_of(status: Mapping[str, Any]) -> Record:
    return unlisted(status.get("resources"))


def written(record: Mapping[ResourceKey, Any]) -> dict[str, Any]:
    """The status field that holds a record."""
    return {"resources": listed(record)}
