"""HelmBundle: the Helm releases of one service, as an object.

Other controllers and users create HelmBundles; only the helmbundle controller runs Helm. Group, kind and
`spec.releases[] = {name, chart, values}` are those of the systems whose manifests must apply unchanged.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from stackwright.api.fields.keyed import Keyed
from stackwright.api.fields.lines import Line
from stackwright.api.fields.naming import OptionalNamespaceName
from stackwright.api.meta import LCM, Column, Kind, Model, Resource, Status

# Atomic: the last writer owns the whole map. Otherwise a map whose fields are all removed would become null, and Helm
# treats null as deletion of the default.
FreeForm = Annotated[
    dict[str, Any],
    Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-map-type": "atomic"}),
]

RELEASES = 64  # maximum of one HelmBundle; a service has only a few
TIMEOUT = 600  # default timeout of a release in seconds
LONGEST_START = 7 * 24 * 3600  # maximum startTimeout in seconds


class HelmRelease(Model):
    name: str = Field(
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=53, description="Name of the Helm release."
    )
    chart: str = Field(
        pattern=r"^[a-zA-Z0-9./][^\s\x00-\x1f\x7f\x85]*$",
        max_length=2048,
        description="Name of a shipped chart; if the operator permits others, a path or URL for Helm.",
    )
    version: Line = Field("", description="Version of the chart; empty for the shipped one.")
    chartDigest: Line = Field(
        "",
        description="Digest of the shipped chart for which the values were built; with another chart, the release is "
        "not changed. Empty for any.",
    )
    namespace: OptionalNamespaceName = Field(
        "", description="Namespace of the release; empty for that of this object. The operator must permit others."
    )
    values: FreeForm = Field(default_factory=dict, description="Values, free-form as the chart defines them.")
    timeout: int = Field(
        TIMEOUT,
        ge=30,
        le=7200,
        description="Seconds without progress after which a release that is not ready is rolled back, unless the "
        "rollback leaves fewer voting servers. Each pod that is replaced or becomes ready is progress.",
    )
    startTimeout: int = Field(
        0,
        ge=0,
        le=LONGEST_START,
        description="Replaces a shorter `timeout` while all pods that are not ready are at the first start of their "
        "containers, such as servers that receive their data first.",
    )


class HelmBundleSpec(Model):
    releases: Annotated[list[HelmRelease], Keyed("name")] = Field(
        min_length=1, max_length=RELEASES, description="Releases, installed in parallel."
    )


class ReleaseStatus(Model):
    """The status of one release."""

    namespace: str = Field("", description="Namespace of the release; empty for that of this object.")
    digest: str = Field("", description="Deployed digest of chart and values.")
    revision: int = Field(0, description="Helm's revision number.")
    success: bool = Field(False, description="Whether the release is deployed and ready.")
    failedDigest: str = Field("", description="Digest that failed and was rolled back; it is not retried.")
    retriedDigest: str = Field(
        "", description="Digest that was retried because a node was available again; it is retried once."
    )
    rollbackRevision: int = Field(0, description="Revision to which the failed digest is or was rolled back.")
    rollbackCause: str = Field("", description="Cause of that rollback.")
    readyRevision: int = Field(0, description="Newest revision that became ready; the target of a rollback.")
    manifests: dict[str, str] = Field(
        default_factory=dict,
        description="Revision → SHA-256 of the objects that Helm installed: of the newest and of the ready revision. "
        "A release is rolled back only to exactly these. Empty for a revision that was there before the release.",
    )
    readyVoters: int = Field(
        0, description="Voting servers of that revision; it is never rolled back to fewer. 0 if none vote."
    )
    waited: int = Field(
        0,
        description="Seconds of waiting for this revision without progress, in steps; a restarted operator continues "
        "from this value.",
    )
    reached: dict[str, int] = Field(
        default_factory=dict,
        description="Highest numbers of new pods and ready pods of each workload when `waited` was written.",
    )
    away: list[str] = Field(
        default_factory=list,
        description="Unavailable nodes that the release excludes or waits for, or that were unavailable at its first "
        "rollback: it is retried when one of these is available again.",
    )
    message: str = Field("", description="Cause of a wait or failure.")


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
    status: HelmBundleStatus = Field(default_factory=HelmBundleStatus, description="Installed releases.")
