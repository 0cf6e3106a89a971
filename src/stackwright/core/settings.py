"""Settings of controllers, constant after start: images, shipped charts, and the operator's namespace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Precaching = Literal["mounted", "unmounted", "init"]
OPERATOR_NAMESPACE = OPERATOR_RELEASE = "stackwright"  # of the operator's chart, where our commands install it
PULLS = "pulls.json"  # beside images.json in the ConfigMap that the operator and `plan` read


@dataclass(frozen=True)
class Settings:
    """images        image name → reference
    charts        shipped chart → digest of its files
    privileged    shipped charts with privileges on nodes or in the whole cluster
    unrestricted  whether HelmBundles may name any chart and any namespace
    namespace     namespace of the operator
    schemas       shipped chart → schema of its values
    pull_secrets  Secrets of the operator's namespace with credentials of registries, for all pods of clouds
    precaching    how images are pulled ahead (core/kubernetes/precache.py)
    unreadable    names in pull_secrets whose Secrets the user of a plan may not read; their copies are treated as
                  current
    """

    images: Mapping[str, str] = field(default_factory=dict)
    charts: Mapping[str, str] = field(default_factory=dict)
    privileged: frozenset[str] = frozenset()
    unrestricted: bool = False
    namespace: str = OPERATOR_NAMESPACE
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pull_secrets: tuple[str, ...] = ()
    precaching: Precaching = "mounted"
    unreadable: frozenset[str] = frozenset()


def pulls(text: str) -> dict[str, Any]:
    """Fields of Settings from the key PULLS of the operator's ConfigMap, a JSON object or an empty text.

    secrets     [{"name": …}, …]
    precaching  if it is not the default
    """
    found = json.loads(text) if text else {}
    names = tuple(dict.fromkeys(each["name"] for each in found.get("secrets") or ()))
    return {"pull_secrets": names, "precaching": found.get("precaching") or Settings.precaching}
