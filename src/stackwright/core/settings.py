"""Settings of controllers, constant after start: images, shipped charts, and the operator's namespace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Settings:
    """images        image name → reference
    charts        shipped chart → digest of its files
    privileged    shipped charts with privileges on nodes or in the whole cluster
    unrestricted  HelmBundles may name any chart and any namespace
    namespace     namespace of the operator
    schemas       shipped chart → schema of its values
    """

    images: Mapping[str, str] = field(default_factory=dict)
    charts: Mapping[str, str] = field(default_factory=dict)
    privileged: frozenset[str] = frozenset()
    unrestricted: bool = False
    namespace: str = "stackwright"
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
