"""Kinds, labels and annotations of Cluster API that we read or write, and Images of the openstack-resource-controller.

Their CRDs may not be installed, and may allow other types of fields; `shape_of` defines the fields that we read. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from stackwright.api.fields.naming import GROUP, RESOURCE
from stackwright.api.meta import Kind
from stackwright.core.objects import label
from stackwright.core.plan import Object
from stackwright.core.shapes import ListOf, MapOf, Struct

CORE, IPAM = "cluster.x-k8s.io", "ipam.cluster.x-k8s.io"
# We read only fields with the same names in both versions: v1beta2 came with Cluster API 1.11, v1beta1 will be removed.
CLUSTER = Kind(CORE, "v1beta2", "Cluster", "clusters", also=("v1beta1",))
MACHINE = Kind(CORE, "v1beta2", "Machine", "machines", also=("v1beta1",))
CLAIM = Kind(IPAM, "v1beta1", "IPAddressClaim", "ipaddressclaims")
ADDRESS = Kind(IPAM, "v1beta1", "IPAddress", "ipaddresses")
IMAGE = Kind("openstack.k-orc.cloud", "v1alpha1", "Image", "images")
INFRASTRUCTURE = f"infrastructure.{CORE}"
NAME, CONTROL_PLANE = f"{CORE}/cluster-name", f"{CORE}/control-plane"  # labels
WITHOUT_NAMESPACE = ("ExtensionConfig", "GlobalInClusterIPPool")
# Annotation of an OpenStackCluster whose infrastructure another system manages and reports.
MANAGED_BY = f"{CORE}/managed-by"

ANY = Struct({})
_REFERENCE = Struct({"apiVersion": str, "apiGroup": str, "kind": str, "name": str})
_OWNER = Struct({"apiVersion": str, "kind": str, "name": str, "uid": str}, ("apiVersion", "kind", "name"))
_CONDITION = Struct(
    dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), str), ("type", "status")
)
_METADATA = Struct(
    {
        **dict.fromkeys(("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"), str),
        **dict.fromkeys(("labels", "annotations"), MapOf(str)),
        "ownerReferences": ListOf(_OWNER),
    },
    ("name",),
)
# The specs of which we read fields. An object without a required field is treated as absent.
_SPECS: Mapping[Kind, Struct] = {
    CLUSTER: Struct({"paused": bool, "infrastructureRef": _REFERENCE}),
    MACHINE: Struct({"bootstrap": Struct({"dataSecretName": str}), "failureDomain": str}),
    CLAIM: Struct({"poolRef": _REFERENCE}),
    ADDRESS: Struct({"address": str, "claimRef": _REFERENCE, "poolRef": _REFERENCE}, ("address",)),
}
_STATUSES: Mapping[Kind, Struct] = {
    CLAIM: Struct({"addressRef": _REFERENCE, "conditions": ListOf(_CONDITION)}),
    IMAGE: Struct({"id": str}),
}


def written_shape(kind: Kind) -> Struct:
    """The spec fields that users write, for the kinds of `kind_of`, in any version."""
    spec = _SPECS.get(kind, ANY)
    return Struct({"spec": spec}, ("spec",) if spec.needs else ())


@cache
def shape_of(kind: Kind) -> Struct:
    """The fields that we read of another system's object; its CRD may allow any other fields and types."""
    written = written_shape(kind)
    fields = {**written.fields, "metadata": _METADATA, "status": _STATUSES.get(kind, ANY)}
    return Struct(fields, ("metadata", *written.needs))


def kind_of(api_version: str, name: str) -> Kind | None:
    """A kind of Cluster API or of a provider other than infrastructure; None for any other kind.

    The infrastructure provider is ours, so an unknown kind of that group is an error of the user.
    """
    group, _, version = api_version.rpartition("/")
    known = group == CORE or (group.endswith(f".{CORE}") and group != INFRASTRUCTURE)
    word = name.lower()
    if not (known and GROUP.matches(group) and RESOURCE.matches(version) and RESOURCE.matches(word)):
        return None
    return Kind(group, version, name, plural(word), namespaced=name not in WITHOUT_NAMESPACE)


def plural(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def is_managed_elsewhere(obj: Object) -> bool:
    return MANAGED_BY in (obj["metadata"].get("annotations") or {})


def refers_to(other: Object, obj: Object) -> bool:
    """Whether the infrastructureRef of a Cluster or a Machine, in either version, names this object."""
    found = (other.get("spec") or {}).get("infrastructureRef") or {}
    return (found.get("kind"), found.get("name")) == (obj["kind"], obj["metadata"]["name"])


def owner_named(obj: Object, kind: Kind) -> str:
    """Name of the owner of that kind, in any version of its group; empty without such an owner."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference["kind"] == kind.kind and reference["apiVersion"].startswith(f"{kind.group}/"):
            return str(reference["name"])
    return ""


def cluster_name(obj: Object) -> str:
    """Value of the label with which machines name an OpenStackCluster; its own name if it has no Cluster."""
    return label(obj, NAME) or owner_named(obj, CLUSTER) or str(obj["metadata"]["name"])


def of_cluster(obj: Object) -> dict[str, str]:
    """The label that assigns objects created for this one to its cluster; empty if it has no cluster."""
    name = label(obj, NAME)
    return {NAME: name} if name else {}


def is_of_pool(obj: Object, pool: Mapping[str, Any]) -> bool:
    """Whether the poolRef of a claim or an IPAddress names this pool; our group is the default of both references."""
    reference = (obj.get("spec") or {}).get("poolRef") or {}
    fields = (("apiGroup", INFRASTRUCTURE), ("kind", ""), ("name", ""))
    return all((reference.get(name) or default) == (pool.get(name) or default) for name, default in fields)


def claim_name(server: Object) -> str:
    """Name of the claim with which a server requests a floating IP from a pool."""
    return f"{server['metadata']['name']}-floating-ip-address"
