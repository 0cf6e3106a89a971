"""Valid objects of infrastructure.cluster.x-k8s.io, and variants of them."""

from __future__ import annotations

import copy
from typing import Any

from stackwright.api.infra.cluster.spelling import SPELLINGS
from stackwright.cloud.registry import BY_KIND
from support.infra_specs import IDENTITY, MACHINE, SERVER

GOOD: dict[str, dict[str, Any]] = {
    "OpenStackServer": SERVER,
    "OpenStackMachine": MACHINE,
    "OpenStackMachineTemplate": {"template": {"spec": MACHINE}},
    "OpenStackCluster": {"identityRef": IDENTITY},
    "OpenStackClusterTemplate": {"template": {"spec": {"identityRef": IDENTITY}}},
    "OpenStackFloatingIPPool": {"identityRef": IDENTITY},
    "OpenStackClusterIdentity": {"secretRef": {"name": "credentials", "namespace": "capi"}},
}


def obj(kind: str, spec: Any = None, **more: Any) -> dict[str, Any]:
    given = GOOD[kind] if spec is None else spec
    api = BY_KIND[kind].KIND.api_version
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "a", "namespace": "b"}, "spec": given, **more}


def changed(base: Any, changes: dict[str, Any]) -> Any:
    """A copy with other values at paths such as ports.0.tags; None removes a value, missing parents are created."""
    out = copy.deepcopy(base)
    for path, value in changes.items():
        *where, last = path.split(".")
        node = out
        for part in where:
            node = node[int(part)] if isinstance(node, list) else node.setdefault(part, {})
        if value is None:
            node.pop(last, None)
        else:
            node[int(last) if isinstance(node, list) else last] = copy.deepcopy(value)
    return out


def later(older: dict[str, Any]) -> dict[str, Any]:
    pairs = {old: new for new, old in SPELLINGS}
    return {pairs[name]: not value if name.startswith("disable") else value for name, value in older.items()}
