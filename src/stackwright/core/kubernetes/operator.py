"""The images of an operator and the namespaces that it manages, read from its Deployment. Pure.

The operator has no rights in other namespaces, so objects there have no status that reports this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stackwright.core.objects import mapping

OPTION = "--namespaces="  # of `stackwright operator`
SHOWN = 10  # namespaces
REMEDY = "Add it to the value `namespaces` of the operator's chart, or use a namespace that it manages."


def _containers(deployment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    pod = mapping(mapping(mapping(deployment.get("spec")).get("template")).get("spec"))
    return [mapping(each) for each in pod.get("containers") or ()]


def images_of(deployment: Mapping[str, Any]) -> set[str]:
    """The image references of an operator's containers."""
    return {str(each.get("image")) for each in _containers(deployment)}


def managed(deployment: Mapping[str, Any]) -> tuple[str, ...]:
    """The namespaces that an operator is limited to; empty if it manages all."""
    words = [str(word) for each in _containers(deployment) for word in each.get("args") or ()]
    given = next((word.removeprefix(OPTION) for word in words if word.startswith(OPTION)), "")
    return tuple(name for name in given.split(",") if name)


def unmanaged(operators: Iterable[Mapping[str, Any]], namespace: str) -> str:
    """An error if the operator of a cluster does not manage a namespace; empty if it does, or if no operator exists.

    operators  the Deployments of operators; a cluster has one
    """
    for each in operators:
        names = managed(each)
        if names and namespace not in names:
            there = ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")
            return f"The operator does not manage the namespace {namespace}, only {there}."
    return ""
