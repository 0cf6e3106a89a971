"""Cluster API's own kinds and labels, as far as we read and write them. They may not be installed. Pure."""

from __future__ import annotations

from stackwright.api.meta import Kind
from stackwright.core.objects import label
from stackwright.core.plan import Object

CORE, IPAM = "cluster.x-k8s.io", "ipam.cluster.x-k8s.io"
# Of these we read what both versions spell alike; the older one goes, the newer one came with Cluster API 1.11.
CLUSTER = Kind(CORE, "v1beta2", "Cluster", "clusters", also=("v1beta1",))
MACHINE = Kind(CORE, "v1beta2", "Machine", "machines", also=("v1beta1",))
CLAIM = Kind(IPAM, "v1beta1", "IPAddressClaim", "ipaddressclaims")
ADDRESS = Kind(IPAM, "v1beta1", "IPAddress", "ipaddresses")
INFRASTRUCTURE = f"infrastructure.{CORE}"
NAME, CONTROL_PLANE = f"{CORE}/cluster-name", f"{CORE}/control-plane"  # labels
PAUSED = f"{CORE}/paused"  # an annotation; what it says does not matter
WITHOUT_NAMESPACE = ("ExtensionConfig", "GlobalInClusterIPPool")
MANAGED_BY = f"{CORE}/managed-by"  # of an OpenStackCluster whose infrastructure another system makes and reports


def kind_of(api_version: str, name: str) -> Kind | None:
    """A kind of Cluster API, or of its providers of all but infrastructure; None for one of others.

    Infrastructure is ours, so a kind of that group which we do not know is a mistake.
    """
    group, _, version = api_version.rpartition("/")
    if (
        group == INFRASTRUCTURE
        or not (group == CORE or group.endswith(f".{CORE}"))
        or not name.isalnum()
        or not version.isalnum()
    ):
        return None
    return Kind(group, version, name, _plural(name.lower()), namespaced=name not in WITHOUT_NAMESPACE)


def _plural(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def is_capi_paused(obj: Object) -> bool:
    return PAUSED in (obj["metadata"].get("annotations") or {})


def is_managed_elsewhere(obj: Object) -> bool:
    return MANAGED_BY in (obj["metadata"].get("annotations") or {})


def refers_to(other: Object, obj: Object) -> bool:
    """Whether the infrastructureRef of a Cluster or a Machine names this object, of either version of Cluster API."""
    found = (other.get("spec") or {}).get("infrastructureRef") or {}
    return (found.get("kind"), found.get("name")) == (obj["kind"], obj["metadata"]["name"])


def owner_named(obj: Object, kind: Kind) -> str:
    """The owner of that kind; empty where there is none. Any version of its group will do."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference["kind"] == kind.kind and reference["apiVersion"].startswith(f"{kind.group}/"):
            return str(reference["name"])
    return ""


def cluster_name(obj: Object) -> str:
    """By which label its machines name an OpenStackCluster; its own name where Cluster API gave it none."""
    return label(obj, NAME) or owner_named(obj, CLUSTER) or str(obj["metadata"]["name"])


def of_cluster(obj: Object) -> dict[str, str]:
    """The label by which what is made for an object belongs to its cluster."""
    name = label(obj, NAME)
    return {NAME: name} if name else {}


def claim_name(server: Object) -> str:
    """By which a server claims a floating IP of a pool."""
    return f"{server['metadata']['name']}-floating-ip-address"
