"""Rights of the user for an installation: those for each object of the operator's chart and each kind. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stackwright.api.kinds import CRD, NAMESPACE, SECRET
from stackwright.api.meta import Kind
from stackwright.controllers.infra.clusterapi import plural
from stackwright.core.objects import mapping
from stackwright.core.plan import Object
from stackwright.local.cluster.doctor import Finding
from stackwright.local.steps.openstack.operator import NAMESPACE as OPERATOR

VERBS = ("get", "list", "create", "update", "patch", "delete")
_GRANT = {"ClusterRole": ("escalate",), "ClusterRoleBinding": ()}  # to give a role rights that its creator lacks


@dataclass(frozen=True, order=True)
class Right:
    """A verb on a resource, in a namespace or, if that is empty, in the whole cluster."""

    group: str
    resource: str
    verb: str
    namespace: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        """Those of a SelfSubjectAccessReview."""
        found = {"group": self.group, "resource": self.resource, "verb": self.verb, "namespace": self.namespace}
        return {name: value for name, value in found.items() if value}


EVERYTHING = Right("*", "*", "*")


def needed(installed: Iterable[Object]) -> list[Right]:
    """For an installation of these objects by helm and kubectl, in a new namespace, with our kinds.

    installed  the objects of the operator's chart
    """
    found = {*_all(CRD, ""), *_all(SECRET, OPERATOR)}  # helm's records are Secrets
    found |= {Right("", NAMESPACE.plural, verb) for verb in ("get", "create")}
    found.add(Right("", "pods", "list", OPERATOR))
    for obj in installed:
        group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
        name = str(obj.get("kind", ""))
        namespace = str(mapping(obj.get("metadata")).get("namespace") or "")
        kind = Kind(group, version, name, plural(name.lower()))
        found |= {*_all(kind, namespace), *(Right(group, kind.plural, verb) for verb in _GRANT.get(name, ()))}
    return sorted(found)


def _all(kind: Kind, namespace: str) -> set[Right]:
    return {Right(kind.group, kind.plural, verb, namespace) for verb in VERBS}


def check(lacking: Sequence[Right] | None) -> list[Finding]:
    """One finding for each API group.

    lacking  the rights that the user lacks; None if the API server does not tell
    """
    subject = "permissions"
    if lacking is None:
        text = "The API server does not tell which rights this user has."
        return [Finding(subject, "note", text, "`kubectl auth can-i --list` shows them.")]
    if not lacking:
        return [Finding(subject, "ok", "This user may install Stackwright.")]
    command = "kubectl create clusterrolebinding NAME --clusterrole=cluster-admin --user=USER"
    remedy = f"An administrator runs `{command}`, or installs Stackwright."
    found = []
    for group in sorted({right.group for right in lacking}):
        mine: dict[tuple[str, str], list[str]] = {}
        for right in lacking:
            if right.group == group:
                mine.setdefault((right.resource, right.namespace), []).append(right.verb)
        parts = [
            f"{', '.join(verbs)} {resource}{f' in namespace {namespace}' if namespace else ''}"
            for (resource, namespace), verbs in mine.items()
        ]
        text = f"This user may not {'; '.join(parts)} (API group {group or 'core'})."
        found.append(Finding(subject, "problem", text, remedy))
    return found
