"""The service kinds: one per OpenStack or infrastructure service, all with the same ServiceSpec.

Each can be used alone; the cloud controller creates them for an OpenStackDeployment. Service-specific parts are in the
declaration of the service (`services/`), so a new kind here is one line.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from stackwright.api.fields.lines import Line
from stackwright.api.fields.naming import OptionalObjectName
from stackwright.api.meta import OURS, CamelModel, Column, Kind, Resource, Status
from stackwright.api.rules import Change, at
from stackwright.api.services.helmbundle import FreeForm

Release = Literal["epoxy"]
Size = Literal["single", "tiny", "small", "medium"]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]

# MariaDB, Etcd and Ceph have one voting server at size single and three at every other size. After a reduction from
# three, the remaining server would have no majority and stop serving.
SIZE_KEEPS_VOTERS = Change(
    "spec.size",
    "cannot become single: one server of three has no majority; allowed: tiny, small, medium",
    "self.?spec.?size.orValue('single') != 'single' || oldSelf.?spec.?size.orValue('single') == 'single'",
    lambda old, new: (at(old, "spec.size") or "single") != "single" == (at(new, "spec.size") or "single"),
)


class Override(CamelModel):
    """Values of one level; a later level wins over an earlier one."""

    source: Line = Field(description="Where the values come from, e.g. spec.services; shown in plans.")
    values: FreeForm = Field(
        default_factory=dict,
        description="Chart name → values; a list item ~x removes x from the list below it.",
    )


class ServiceSpec(CamelModel):
    release: Release = Field("epoxy", description="OpenStack release of the images and settings.")
    size: Size = Field("single", description="Replicas, workers and memory: for how large a cloud.")
    region: Line = Field("RegionOne", description="Region name in the catalog.")
    cluster_domain: Line = Field("cluster.local", description="DNS domain of the Kubernetes cluster.")
    public_domain: Line = Field("", description="Domain of the public endpoints.")
    storage_class: OptionalObjectName = Field(
        "", description="Storage class of local volumes; empty for the default one."
    )
    memcached_replicas: int | None = Field(
        None, ge=1, le=32, description="Servers of the Memcached; absent: as many as the size says."
    )
    log_level: LogLevel = Field("INFO", description="Log level of the service.")
    orphan: list[Line] = Field(
        default_factory=list,
        description="Stores or back ends that may be given up with all that is in them, which nobody can read then.",
    )
    settings: FreeForm = Field(
        default_factory=dict,
        description="What features of the cloud ask of this service; see its reference page.",
    )
    overrides: list[Override] = Field(
        default_factory=list, description="Values over the built ones, in rising priority."
    )


class ServiceStatus(Status):
    state: Literal["", "WAITING", "APPLYING", "APPLIED", "DELETING"] = Field(
        "", description="Where the service stands, in one word."
    )
    release: str = Field("", description="OpenStack release that is deployed.")
    progress: str = Field("", description="Stages done of all, as n/m.")
    backends: list[str] = Field(
        default_factory=list, description="Stores or back ends that are in use: what is in them belongs to users."
    )


class ServiceResource(Resource):
    spec: ServiceSpec = Field(default_factory=ServiceSpec, description="What the service shall be.")
    status: ServiceStatus = Field(default_factory=ServiceStatus, description="What it is.")


def service_kind(kind: str, plural: str, short: str) -> Kind:
    """The identity of the kind of a service."""
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
