"""What is wrong with a cloud, a HelmBundle, or an object that lives in a cloud: all errors at once. Pure."""

from __future__ import annotations

from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.api.deployment import OpenStackDeployment
from stackwright.api.helmbundle import HelmBundle
from stackwright.api.immutability import update_errors
from stackwright.api.registry import SERVER_KINDS
from stackwright.controllers.cloud.validate import parse as parse_deployment
from stackwright.controllers.controlplane.validate import parse as parse_control_plane
from stackwright.controllers.helmbundle.validate import errors_of as helmbundle_errors
from stackwright.core.plan import Object
from stackwright.core.settings import Settings

# Cluster API's topology controller asks so whether a change needs another template. Nothing is changed by it.
TOPOLOGY = "topology.cluster.x-k8s.io/dry-run"
_SERVERS = {resource.KIND.kind: resource for resource in SERVER_KINDS}


def errors_of(
    obj: Object, old: Object | None = None, dry_run: bool = False, settings: Settings | None = None
) -> list[str]:
    """All errors, none for a kind that is not checked here. `old` is the stored object, if it is to be changed.

    settings  those of the operator, for what it permits; None outside of it
    """
    match str(obj.get("kind")):
        case OpenStackDeployment.KIND.kind:
            return parse_deployment(obj)[1]
        case OpenStackControlPlane.KIND.kind:
            return parse_control_plane(obj)[1]
        case HelmBundle.KIND.kind:
            return helmbundle_errors(obj, settings, old)
        case name if name in _SERVERS:
            errors = _SERVERS[name].parsed(obj)[1]
            asks_only = dry_run and TOPOLOGY in (obj["metadata"].get("annotations") or {})
            return errors if old is None or asks_only else [*errors, *update_errors(old, obj)]
    return []
