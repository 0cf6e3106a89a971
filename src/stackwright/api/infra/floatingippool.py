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
        description="Existing floating IPs; used first, and never deleted.",
    )
    max_ips: int | None = Field(None, ge=0, description="Maximum number of claims; default: unlimited.")
    floating_ip_network: NetworkParam | None = Field(None, description="External network; default: the only one.")
    reclaim_policy: Literal["Retain", "Delete"] = Field("Retain", description="What happens to released floating IPs.")


class OpenStackFloatingIPPoolStatus(OwnerStatus):
    claimed_ips: list[str] = Field(default_factory=list, description="Floating IPs in use.")
    available_ips: list[str] = Field(default_factory=list, description="Free floating IPs.")
    failed_ips: list[str] = Field(default_factory=list, description="Floating IPs that are not available.")
    floating_ip_network: Tagged | None = Field(None, description="The external network.")
    resources: list[dict[str, str]] = Field(default_factory=list, description="Created resources: type, name, id.")


class OpenStackFloatingIPPool(InfraResource):
    DESCRIPTION = "A pool of floating IPs of an OpenStack for claims."
    KIND: ClassVar[Kind] = Kind(
        GROUP, "v1alpha1", "OpenStackFloatingIPPool", "openstackfloatingippools",
        columns=(
            Column("Network", ".status.floatingIPNetwork.name"), Column("Max", ".spec.maxIPs", "integer"),
            READY, MESSAGE, AGE,
        ),
        categories=CATEGORIES,
    )  # fmt: skip
    spec: OpenStackFloatingIPPoolSpec = Field(description="Desired state of the pool.")
    status: OpenStackFloatingIPPoolStatus = Field(
        default_factory=OpenStackFloatingIPPoolStatus, description="Observed state of the pool."
    )
