"""Resources of containers, in the form of the charts' values.

Each service has the numbers of its own pods for each size. Intended clouds: single is one node for trial and tests,
tiny about 10 compute nodes, small 50, medium 300.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

WORKER_MEMORY = 224  # MiB; maximum for one worker of an OpenStack service
LEAST_LIMIT = 1024  # MiB; the default of the charts


@dataclass(frozen=True)
class Sizing:
    """Pods of a service that only has an API, and workers of each pod."""

    pods: int
    workers: int


def limits(**workers: int) -> dict[str, Any]:
    """`pod.resources` of a chart: component (`_` for `-`) → memory limit for its workers and their master process."""
    return {
        component.replace("_", "-"): {"limits": {"memory": f"{rounded(WORKER_MEMORY * (1 + count), LEAST_LIMIT)}Mi"}}
        for component, count in workers.items()
    }


def memory(limit: int, request: int) -> dict[str, Any]:
    """Resources of a component, in MiB."""
    return {"requests": {"memory": f"{request}Mi"}, "limits": {"memory": f"{limit}Mi"}}


def rounded(mebibytes: float, least: int = 0) -> int:
    return max(least, math.ceil(mebibytes / 256) * 256)
