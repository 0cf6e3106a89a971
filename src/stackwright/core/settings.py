"""Settings of controllers, constant after start: images, shipped charts, and the operator's namespace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PULLS = "pulls.json"  # beside images.json in the ConfigMap that the operator and `plan` read


@dataclass(frozen=True)
class Settings:
    """images        image name → reference
    charts        shipped chart → digest of its files
    privileged    shipped charts with privileges on nodes or in the whole cluster
    unrestricted  HelmBundles may name any chart and any namespace
    namespace     namespace of the operator
    schemas       shipped chart → schema of its values
    pull_secrets  Secrets of the operator's namespace with credentials of registries, for all pods of clouds
    """

    images: Mapping[str, str] = field(default_factory=dict)
    charts: Mapping[str, str] = field(default_factory=dict)
    privileged: frozenset[str] = frozenset()
    unrestricted: bool = False
    namespace: str = "stackwright"
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pull_secrets: tuple[str, ...] = ()


def pulls(text: str) -> dict[str, Any]:
    """Fields of Settings from the key PULLS of the operator's ConfigMap: {"secrets": [{"name": …}, …]}, or no text."""
    found = json.loads(text) if text else {}
    return {"pull_secrets": tuple(dict.fromkeys(each["name"] for each in found.get("secrets") or ()))}
