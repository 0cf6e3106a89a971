"""OpenStackFloatingIPPool: a pool of floating IPs for claims (IPAddressClaim of Cluster API)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from stackwright.api.infra.capi import AGE, CATEGORIES, GROUP, MESSAGE, READY, InfraResource, Ipv4, OwnerStatus, Part
from stackwright.api.infra.cluster.status import Tagged
from stackwright.api.infra.identity import IdentityReference
from stackwright.api.infra.params import NetworkParam
from stackwright.api.meta import Column, Kind

FINALIZER = f"openstackfloatingippool.{GROUP}"
GIVEN = 512  # maximum number of given addresses; each is looked up by a request


class OpenStackFloatingIPPoolSpec(Part):
    identity_ref: IdentityReference = Field(description="The credentials.")
    pre_allocated_floating_ips: list[Ipv4] = Field(
        default_factory=list,
        max_length=GIVEN,
        description="Floating IPs that are there; used first, and never deleted.",
    )
    max_ips: int | None = Field(None, ge=0, description="How many may be claimed; absent: any number.")
    floating_ip_network: NetworkParam | None = Field(
        None, description="External network; absent: the only one there is."
    )
    reclaim_policy: Literal["Retain", "Delete"] = Field(
        "Retain", description="What becomes of a floating IP given back."
    )


class OpenStackFloatingIPPoolStatus(OwnerStatus):
    claimed_ips: list[str] = Field(default_factory=list, description="Floating IPs in use.")
    available_ips: list[str] = Field(default_factory=list, description="Floating IPs that are free.")
    failed_ips: list[str] = Field(default_factory=list, description="Floating IPs that could not be had.")
    floating_ip_network: Tagged | None = Field(None, description="The external network.")
    resources: list[dict[str, str]] = Field(default_factory=list, description="What was made: type, name, id.")


class OpenStackFloatingIPPool(InfraResource):
    DESCRIPTION = "Floating IPs of an OpenStack for whoever claims one."
    KIND: ClassVar[Kind] = Kind(
        GROUP, "v1alpha1", "OpenStackFloatingIPPool", "openstackfloatingippools",
        columns=(
            Column("Network", ".status.floatingIPNetwork.name"), Column("Max", ".spec.maxIPs", "integer"),
            READY, MESSAGE, AGE,
        ),
        categories=CATEGORIES,
    )  # fmt: skip
    spec: OpenStackFloatingIPPoolSpec = Field(description="The pool that is wanted.")
    status: OpenStackFloatingIPPoolStatus = Field(
        default_factory=OpenStackFloatingIPPoolStatus, description="The pool as it is."
    )
