"""Observations for tests of `decide`, as small as can be."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from stackwright.api.meta import Kind
from stackwright.core.plan import Apply, HelmUpgrade, Object, Plan
from stackwright.core.secrets.writes import CopySecret, EnsureSecret, RotateKeys

NAMESPACE = "openstack"
# Taken from the preset by tests to which four services are enough: database, messaging, memcached, identity.
AWAY = tuple(f"~{name}" for name in ("ingress", "image", "placement", "networking", "compute", "dashboard"))
MAKES = (Apply, EnsureSecret, CopySecret, RotateKeys, HelmUpgrade)


def obj(kind: Kind, name: str, spec: Any = None, *, deleting: bool = False, **meta: Any) -> Object:
    labels = {"metadata": {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "generation": 1, **meta}}
    if deleting:
        labels["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"apiVersion": kind.api_version, "kind": kind.kind, **labels, "spec": {} if spec is None else spec}


def with_ready(thing: Object, status: str = "True", reason: str = "Ready", message: str = "", **more: Any) -> Object:
    seen = thing["metadata"].get("generation") or 1
    entry = {"type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": seen}
    return {**thing, "status": {**(thing.get("status") or {}), "conditions": [entry], **more}}


def condition(plan: Plan, type_: str = "Ready") -> Any:
    return next(c for c in plan.conditions if c.type == type_)


def makes_nothing(plan: Plan) -> bool:
    return not [action for action in plan.actions if isinstance(action, MAKES)]


TEXT = st.sampled_from(["", "x", "keystone", "mariadb", "value_from", "values", "conf", "a::b", "True", "~x"])
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
CONDITIONS = st.lists(
    st.builds(
        lambda t, s, g: {"type": t, "status": s, "reason": "R", "message": "m", "observedGeneration": g},
        st.sampled_from(["Ready", "Nodes", "Reconciling"]),
        st.sampled_from(["True", "False", "Unknown"]),
        st.integers(0, 2),
    ),
    max_size=3,
)
