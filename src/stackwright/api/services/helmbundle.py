"""HelmBundle: the Helm releases of one service, as an object.

Other controllers and users create HelmBundles; only the helmbundle controller runs Helm. The group, the kind and
`spec.releases[] = {name, chart, values}` are those of the systems whose manifests must apply unchanged.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from stackwright.api.fields.lines import Line
from stackwright.api.fields.naming import OptionalNamespaceName
from stackwright.api.meta import LCM, Column, Kind, Model, Resource, Status

# Atomic: the last writer owns the whole map. Otherwise a map whose fields are all removed would become null, and Helm
# treats null as deletion of the default.
FreeForm = Annotated[
    dict[str, Any],
    Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-map-type": "atomic"}),
]

RELEASES = 64  # of one HelmBundle; those of a service are a few


class HelmRelease(Model):
    name: str = Field(
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=53, description="Name of the Helm release."
    )
    chart: str = Field(
        pattern=r"^[a-zA-Z0-9./][^\s\x00-\x1f\x7f\x85]*$",
        max_length=2048,
        description="A shipped chart, by its name; where the operator permits more, a path or URL for helm.",
    )
    version: Line = Field("", description="Version of the chart; empty for the shipped one.")
    chartDigest: Line = Field(
        "",
        description="Digest of the shipped chart that the values are made for; while there is another one, the release "
        "is not touched. Empty for any.",
    )
    namespace: OptionalNamespaceName = Field(
        "", description="Namespace of the release; empty for that of this object. Another one must be permitted."
    )
    values: FreeForm = Field(default_factory=dict, description="Values, free-form as the chart defines them.")
    timeout: int = Field(
        600,
        ge=30,
        le=7200,
        description="Seconds after which a release that is not ready and makes no progress is rolled back, unless that "
        "left fewer servers that vote. Each pod that is replaced or gets ready is progress.",
    )
    startTimeout: int = Field(
        0,
        ge=0,
        le=604800,
        description="The same, where `timeout` is shorter, while all pods that are not ready are at the first start of "
        "their containers, such as servers that first receive their data.",
    )


class HelmBundleSpec(Model):
    releases: list[HelmRelease] = Field(
        min_length=1,
        max_length=RELEASES,
        description="Releases, installed side by side.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    )


class ReleaseStatus(Model):
    """What is known of one release."""

    namespace: str = Field("", description="Namespace of the release; empty for that of this object.")
    digest: str = Field("", description="Digest of chart and values that is deployed.")
    revision: int = Field(0, description="Helm's revision number.")
    success: bool = Field(False, description="Whether it is deployed and ready.")
    failedDigest: str = Field("", description="Digest that failed and was rolled back; not tried again.")
    retriedDigest: str = Field(
        "", description="Digest that was tried again because a node was back; that is done once until it gets ready."
    )
    readyRevision: int = Field(0, description="Newest revision that got ready; where a rollback goes to.")
    readyVoters: int = Field(
        0, description="Servers of that revision that vote; it is never rolled back to fewer. 0 where none do."
    )
    waited: int = Field(
        0,
        description="Seconds that this revision was waited for without progress, in steps; a restarted operator goes "
        "on from there.",
    )
    reached: dict[str, int] = Field(
        default_factory=dict,
        description="How many pods of each workload were new, and how many ready, at most, when `waited` was written.",
    )
    away: list[str] = Field(
        default_factory=list,
        description="Nodes that it does without or waits for, or that were away when it was rolled back first: it is "
        "tried again when one of these is back.",
    )
    message: str = Field("", description="What it waits for, or why it failed.")


class HelmBundleStatus(Status):
    releaseStatuses: dict[str, ReleaseStatus] = Field(
        default_factory=dict, description="State of each release, by its name."
    )


class HelmBundle(Resource):
    DESCRIPTION = "The Helm releases of one service."
    KIND: ClassVar[Kind] = Kind(
        LCM, "v1alpha1", "HelmBundle", "helmbundles", short=("hb",),
        columns=(
            Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
            Column("Message", '.status.conditions[?(@.type=="Ready")].message'),
            Column("Age", ".metadata.creationTimestamp", "date"),
        ),
    )  # fmt: skip
    spec: HelmBundleSpec = Field(description="The releases.")
    status: HelmBundleStatus = Field(default_factory=HelmBundleStatus, description="What is installed.")
