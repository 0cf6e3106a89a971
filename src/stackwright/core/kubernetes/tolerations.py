"""Taints of nodes, and tolerations of pods. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from stackwright.core.objects import mapping

# Taints that Kubernetes sets by a node's conditions: pods of DaemonSets tolerate them, or they are temporary.
_BY_CONDITION = {
    f"node.kubernetes.io/{each}"
    for each in (
        "not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable",
        "network-unavailable",
    )
}  # fmt: skip
_FIELDS = ("key", "operator", "value", "effect")
_KEPT_AWAY = ("NoSchedule", "NoExecute")
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = re.compile(rf"([a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME}")
_VALUE = re.compile(rf"({_NAME})?")

Toleration = Mapping[str, str]


def of_values(values: Mapping[str, Any]) -> list[Toleration]:
    """The tolerations of pods in a chart's values, without invalid ones. Values may have any shape."""
    found: list[Toleration] = []
    for each in mapping(mapping(values.get("pod")).get("tolerations")).values():
        given = mapping(each)
        listed = given.get("tolerations") if given.get("enabled") is True else ()
        found += [_shortened(one) for one in (listed if isinstance(listed, list) else ()) if _is_valid(one)]
    return found


def is_tolerated(node: Mapping[str, Any], tolerations: Iterable[Toleration]) -> bool:
    """Whether pods of a DaemonSet with these tolerations may be on a node."""
    taints = (node.get("spec") or {}).get("taints") or ()
    kept = [each for each in taints if each.get("effect") in _KEPT_AWAY and each.get("key") not in _BY_CONDITION]
    if not kept:
        return True
    given = list(tolerations)
    return all(any(_tolerates(each, taint) for each in given) for taint in kept)


def _tolerates(toleration: Toleration, taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    return toleration.get("operator") == "Exists" or (toleration.get("value") or "") == (taint.get("value") or "")


def _is_valid(given: Any) -> bool:
    if not isinstance(given, Mapping):
        return False
    fields = _shortened(given)
    if not all(isinstance(each, str) for each in fields.values()):
        return False
    key, value, exists = fields.get("key", ""), fields.get("value", ""), fields.get("operator") == "Exists"
    return (
        fields.get("operator", "") in ("", "Equal", "Exists")
        and fields.get("effect", "") in ("", "PreferNoSchedule", *_KEPT_AWAY)
        and bool(_KEY.fullmatch(key) if key else exists)
        and (not value if exists else bool(_VALUE.fullmatch(value)))
    )


def _shortened(given: Mapping[str, Any]) -> dict[str, Any]:
    """A toleration without its duration, because a DaemonSet recreates evicted pods, and without empty fields, as
    Kubernetes stores it.
    """
    return {name: given[name] for name in _FIELDS if given.get(name) not in (None, "")}
