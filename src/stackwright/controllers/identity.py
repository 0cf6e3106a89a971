"""identityRef → which credentials, and whether this namespace may use them. Reads, and touches no cloud.

A Secret of one's own namespace is anybody's to name. An OpenStackClusterIdentity lends a Secret of another namespace to
those that its selector lets in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.api.kinds import NAMESPACE
from stackwright.api.openstackclusteridentity import OpenStackClusterIdentity
from stackwright.core.clouds import CloudRef, Denied, Trouble
from stackwright.core.ports import Reader


async def cloud_of(reader: Reader, namespace: str, identity: Mapping[str, Any]) -> CloudRef:
    """Raises Trouble for an identity that is not there, Denied for one that this namespace may not use."""
    name, cloud, region = str(identity["name"]), str(identity["cloudName"]), str(identity.get("region") or "")
    if identity.get("type", "Secret") == "Secret":
        return CloudRef((namespace, name), cloud, region)
    found = await reader.get(OpenStackClusterIdentity.KIND, ("", name))
    if found is None:
        raise Trouble("IdentityNotFound", f"OpenStackClusterIdentity {name} does not exist")
    spec = found["spec"]
    selector = spec.get("namespaceSelector")
    if selector is not None:
        space = await reader.get(NAMESPACE, ("", namespace))
        if not matches(selector, ((space or {}).get("metadata") or {}).get("labels") or {}):
            raise Denied(
                "IdentityAccessDenied",
                f"Namespace {namespace} may not use OpenStackClusterIdentity {name}: "
                "its labels are not those of spec.namespaceSelector",
            )
    reference = spec["secretRef"]
    return CloudRef((str(reference["namespace"]), str(reference["name"])), cloud, region)


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """A label selector of Kubernetes; the empty one takes all."""
    wanted = selector.get("matchLabels") or {}
    return wanted.items() <= labels.items() and all(_holds(e, labels) for e in selector.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
    return key not in labels
