"""What is wrong with an object that stands for a whole cloud, of either kind. Pure."""

from __future__ import annotations

from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.api.deployment import OpenStackDeployment
from stackwright.controllers.cloud.validate import parse as parse_deployment
from stackwright.controllers.controlplane.validate import parse as parse_control_plane
from stackwright.core.plan import Object


def errors_of(obj: Object) -> list[str]:
    """All errors, none for a kind that is no cloud."""
    match obj.get("kind"):
        case OpenStackDeployment.KIND.kind:
            return parse_deployment(obj)[1]
        case OpenStackControlPlane.KIND.kind:
            return parse_control_plane(obj)[1]
    return []
