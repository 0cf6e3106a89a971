"""Resolves an identityRef to credentials and checks that the namespace may use them. Sends no request to a cloud.

Every object may name a Secret of its own namespace. An OpenStackClusterIdentity shares a Secret of another namespace
with the namespaces that its selector matches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from stackwright.api.errors import messages
from stackwright.api.infra.identity import OpenStackClusterIdentity, OpenStackClusterIdentitySpec
from stackwright.api.kinds import NAMESPACE
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resources import CloudRef
from stackwright.core.ports import Reader


async def cloud_of(reader: Reader, namespace: str, identity: Mapping[str, Any]) -> CloudRef:
    """Raises TransientCloudError if the identity does not exist, TerminalCloudError if the namespace may not use it."""
    name, cloud, region = str(identity["name"]), str(identity["cloudName"]), str(identity.get("region") or "")
    if identity.get("type", "Secret") == "Secret":
        return CloudRef((namespace, name), cloud, region)
    found = await reader.get(OpenStackClusterIdentity.KIND, ("", name))
    if found is None:
        raise TransientCloudError(Reason.IDENTITY_NOT_FOUND, f"OpenStackClusterIdentity {name} does not exist")
    try:
        spec = OpenStackClusterIdentitySpec.model_validate(found["spec"])
    except ValidationError as error:
        wrong = "; ".join(messages(error, OpenStackClusterIdentitySpec))
        raise TerminalCloudError(Reason.INVALID_SPEC, f"OpenStackClusterIdentity {name}: {wrong}") from None
    space = await reader.get(NAMESPACE, ("", namespace)) if spec.namespace_selector else {}
    if space is None:  # without labels it would match a selector for absent labels
        raise TransientCloudError(Reason.NOT_FOUND, f"Namespace {namespace} does not exist")
    if not spec.allows((space.get("metadata") or {}).get("labels") or {}):
        raise TerminalCloudError(
            Reason.IDENTITY_ACCESS_DENIED,
            f"Namespace {namespace} may not use OpenStackClusterIdentity {name}: "
            "its labels do not match spec.namespaceSelector",
        )
    return CloudRef((spec.secret_ref.namespace, spec.secret_ref.name), cloud, region, granted=True)
