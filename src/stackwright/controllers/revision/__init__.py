"""Keeps each spec of a cloud, so that `stackwright rollback` can restore it."""

from __future__ import annotations

from functools import partial

from stackwright.cloud.registry import CLOUD_KINDS
from stackwright.controllers.revision.decide import decide
from stackwright.controllers.revision.observe import observe
from stackwright.core.controller import Controller


def controllers() -> tuple[Controller, ...]:
    """One controller for each kind of cloud."""
    return tuple(
        Controller(
            f"revision-{resource.KIND.kind.lower()}",
            "health",
            resource.KIND,
            (),
            partial(observe, resource.KIND),
            decide,
            reports=False,
            forecast=False,
        )
        for resource in CLOUD_KINDS
    )
