"""Converts the record of a cluster to its status and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.controllers.infra.managed_resources import Record, listed, unlisted
from stackwright.core.openstack.clouds import Slot

NETWORK: Slot = ("network", "cluster")
SUBNET: Slot = ("subnet", "cluster")
ROUTER: Slot = ("router", "cluster")
INTERFACE: Slot = ("port", "router")
API: Slot = ("floating-ip", "api")
BASTION: Slot = ("floating-ip", "bastion")
GROUPS = ("controlplane", "worker", "bastion")


def group(name: str) -> Slot:
    return ("security-group", name)


def record_of(status: Mapping[str, Any]) -> Record:
    return unlisted(status.get("resources"))


def written(record: Mapping[Slot, Any]) -> dict[str, Any]:
    """The status field that holds a record."""
    return {"resources": listed(record)}
