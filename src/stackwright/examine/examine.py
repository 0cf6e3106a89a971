"""The examination of a cluster before an installation: reads it, computes the needs, and checks them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from stackwright.core.findings import Finding
from stackwright.core.plan import HelmUpgrade
from stackwright.core.settings import OPERATOR_NAMESPACE, OPERATOR_RELEASE, Settings
from stackwright.examine import checks, demand
from stackwright.examine.demand import Demand, Given
from stackwright.examine.observe import Examined, Observed, observe
from stackwright.examine.rights import needed
from stackwright.forecast.costs import Render, objects
from stackwright.services.registry import SERVICES


async def examine(
    cluster: Examined, given: Sequence[Given], settings: Settings, render: Render | None
) -> tuple[list[Finding], Observed, Demand]:
    """The findings, and the state and the needs from which they follow.

    given   objects of manifests
    render  renders a chart to manifests; without it, the requests of pods and some rights are unknown
    """
    wanted = await demand.of_manifests(cluster, given, settings, time.time(), render)
    if not wanted.clouds:
        wanted = demand.of_services(SERVICES)
    images = {"tags": {"stackwright": settings.images.get("operator", "operator")}, "references": {}}
    values = {"images": images, "crds": {"install": False}}  # `needed` adds the rights for kinds
    chart = HelmUpgrade((OPERATOR_NAMESPACE, OPERATOR_RELEASE), OPERATOR_RELEASE, "", values, "", {})
    installed = objects(await render(chart)) if render else None
    seen = await observe(cluster, needed(installed or ()))
    return checks.check(seen, wanted), seen, wanted
