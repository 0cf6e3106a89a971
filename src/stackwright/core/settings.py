"""What a controller knows beside the cluster: images, shipped charts, and its own namespace. Set once at start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Settings:
    """images        image name → reference
    charts        shipped chart → digest of its files
    privileged    those of them that have rights on nodes or in the cluster
    unrestricted  HelmBundles may name any chart and any namespace
    namespace     of the operator
    schemas       shipped chart → schema of its values
    """

    images: Mapping[str, str] = field(default_factory=dict)
    charts: Mapping[str, str] = field(default_factory=dict)
    privileged: frozenset[str] = frozenset()
    unrestricted: bool = False
    namespace: str = "stackwright"
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
