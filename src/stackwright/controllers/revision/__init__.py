"""Each spec that a cloud gets is kept, so that `stackwright rollback` can go back to it."""

from __future__ import annotations

from functools import partial

from stackwright.api.registry import CLOUD_KINDS
from stackwright.controllers.revision.decide import decide
from stackwright.controllers.revision.observe import observe
from stackwright.core.controller import Controller


def controllers() -> tuple[Controller, ...]:
    """One for each kind of clouds. Plans leave them out, for `simulate.ROLES` has no role "health"."""
    return tuple(
        Controller(
            f"revision-{resource.KIND.kind.lower()}",
            "health",
            resource.KIND,
            (),
            partial(observe, resource.KIND),
            decide,
            reports=False,
        )
        for resource in CLOUD_KINDS
    )
