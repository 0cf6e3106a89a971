"""The images that a cloud needs in a registry: those that its controller pulls to the nodes, and the operator. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stackwright.api.kinds import DAEMONSET
from stackwright.api.meta import Kind
from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.cloud.decide import decide as decide_deployment
from stackwright.controllers.cloud.observe import Observed
from stackwright.controllers.controlplane.decide import decide as decide_controlplane
from stackwright.core.kubernetes import precache
from stackwright.core.plan import Apply, Object
from stackwright.core.settings import Settings

_DECIDE = {OpenStackDeployment.KIND: decide_deployment, OpenStackControlPlane.KIND: decide_controlplane}


def images(clouds: Iterable[tuple[Kind, Object]], references: Mapping[str, str]) -> list[str]:
    """References of images. Raises ValueError for a cloud for which the operator would create nothing.

    references  name → reference, of the images of this version
    """
    found = {references["operator"]}
    for kind, cloud in clouds:
        meta = {"uid": "", **cloud["metadata"]}  # a new object has no uid
        plan = _DECIDE[kind](Observed(Settings(references), {**cloud, "metadata": meta}))
        applied = [action.obj for action in plan.actions if isinstance(action, Apply) and action.kind == DAEMONSET]
        holder = next((each for each in applied if each["metadata"]["name"] == precache.NAME), None)
        if holder is None:
            raise ValueError(f"{kind.kind} {meta['name']}: {plan.conditions[0].message}")
        found |= precache.references(holder)
    return sorted(found)
