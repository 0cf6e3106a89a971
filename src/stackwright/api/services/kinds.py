"""The base of the service kinds, which all have the same ServiceSpec; each kind is in the folder of its service.

A service object can be used alone; the cloud controller creates those of an OpenStackDeployment.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from stackwright.api.fields.lines import Line, Short
from stackwright.api.fields.naming import OptionalObjectName
from stackwright.api.meta import OURS, CamelModel, Column, Kind, Resource, Status
from stackwright.api.services.helmbundle import FreeForm

Release = Literal["epoxy"]
OPENSTACK_RELEASE: Release = get_args(Release)[0]  # default
OPENSTACK_VERSION = "2025.1"  # the number of that release
Size = Literal["single", "tiny", "small", "medium"]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


class Override(CamelModel):
    """Values of one level; a later level wins over an earlier one."""

    source: Line = Field(description="Source of the values, e.g. spec.services; shown in plans.")
    values: FreeForm = Field(
        default_factory=dict,
        description="Chart name → values; a list item ~x removes x from the list of the lower level.",
    )


class ServiceSpec(CamelModel):
    release: Release = Field(OPENSTACK_RELEASE, description="OpenStack release of the images and settings.")
    size: Size = Field("single", description="Size of the cloud: replicas, workers, memory.")
    region: Short = Field("RegionOne", description="Region name in the catalog.")
    cluster_domain: Line = Field("cluster.local", description="DNS domain of the Kubernetes cluster.")
    public_domain: Line = Field("", description="Domain of the public endpoints.")
    storage_class: OptionalObjectName = Field(
        "", description="Storage class of local volumes; empty for the default one."
    )
    # Also for kinds without Memcached: an OpenStackControlPlane writes it into all of its service objects, and
    # manifests with it would be rejected without the field.
    memcached_replicas: int | None = Field(None, ge=1, le=32, description="Servers of the Memcached; default: by size.")
    log_level: LogLevel = Field("INFO", description="Log level of the service.")
    orphan: list[Line] = Field(
        default_factory=list,
        description="Stores or back ends that may be removed although their data becomes inaccessible.",
    )
    settings: FreeForm = Field(
        default_factory=dict,
        description="Settings of this service from the cloud's features; see its reference page.",
    )
    overrides: list[Override] = Field(
        default_factory=list, description="Overrides of built values, in rising priority."
    )


class ServiceStatus(Status):
    state: Literal["", "WAITING", "APPLYING", "APPLIED", "DELETING"] = Field(
        "", description="State of the service, in one word."
    )
    release: str = Field("", description="Deployed OpenStack release.")
    progress: str = Field("", description="Completed stages of all stages, as n/m.")
    backends: list[str] = Field(
        default_factory=list, description="Stores or back ends in use; their content belongs to users."
    )
    agents: list[str] = Field(
        default_factory=list, description="Agents of nodes that the service may know, as program@node."
    )


class ServiceResource(Resource):
    spec: ServiceSpec = Field(default_factory=ServiceSpec, description="Desired state of the service.")
    status: ServiceStatus = Field(default_factory=ServiceStatus, description="Observed state of the service.")


def service_kind(kind: str, plural: str, short: str) -> Kind:
    """The identity of a service's kind."""
    return Kind(
        OURS, "v1alpha1", kind, plural, short=(short,),
        columns=(
            Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
            Column("Progress", ".status.progress"),
            Column("Release", ".status.release"),
            Column("Message", '.status.conditions[?(@.type=="Ready")].message'),
            Column("Age", ".metadata.creationTimestamp", "date"),
        ),
    )  # fmt: skip
