"""The rights of a user for an installation: for each object of the operator's chart and each kind. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stackwright.api.kinds import CRD, NAMESPACE, SECRET
from stackwright.api.meta import Kind
from stackwright.controllers.infra.clusterapi import plural
from stackwright.core.findings import Finding
from stackwright.core.objects import mapping
from stackwright.core.plan import Object
from stackwright.core.settings import OPERATOR_NAMESPACE

VERBS = ("get", "list", "create", "update", "patch", "delete")


@dataclass(frozen=True, order=True)
class Right:
    """A verb on a resource, in a namespace or, if that is empty, in the whole cluster.

    resource  may include a subresource, such as pods/log
    name      name of the only object; empty: all objects
    instead   rights that together replace this one; empty: no rights do
    """

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""
    instead: tuple[Right, ...] = ()

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes of a SelfSubjectAccessReview."""
        resource, _, subresource = self.resource.partition("/")
        found = {"group": self.group, "resource": resource, "subresource": subresource, "verb": self.verb}
        found |= {"namespace": self.namespace, "name": self.name}
        return {name: value for name, value in found.items() if value}


EVERYTHING = Right("*", "*", "*")


def needed(installed: Iterable[Object]) -> list[Right]:
    """The rights for an installation of these objects by helm and kubectl, in a new namespace, with our kinds.

    installed  the objects of the operator's chart
    """
    objects = {(str(obj.get("kind", "")), *_place(obj)): obj for obj in installed}
    found = {*_all(CRD, ""), *_all(SECRET, OPERATOR_NAMESPACE)}  # helm's records are Secrets
    found |= {Right("", NAMESPACE.plural, verb) for verb in ("get", "create")}
    # `helm --wait` reads them.
    found |= {Right("", "pods", "list", OPERATOR_NAMESPACE), Right("apps", "replicasets", "list", OPERATOR_NAMESPACE)}
    for (name, namespace, _), obj in objects.items():
        group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
        found |= _all(Kind(group, version, name, plural(name.lower())), namespace)
        found.update(_implied(obj, objects))
    return sorted(found)


def _place(obj: Object) -> tuple[str, str]:
    """Namespace and name."""
    meta = mapping(obj.get("metadata"))
    return str(meta.get("namespace") or ""), str(meta.get("name", ""))


def _all(kind: Kind, namespace: str) -> set[Right]:
    return {Right(kind.group, kind.plural, verb, namespace) for verb in VERBS}


def _implied(obj: Object, objects: Mapping[tuple[str, str, str], Object]) -> Iterator[Right]:
    """Rights that the API server also requires, so that no user gains rights by creating the object.

    https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
    https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#parameter-resources
    """
    kind, (namespace, _) = str(obj.get("kind", "")), _place(obj)
    if kind in ("Role", "ClusterRole"):
        group = str(obj.get("apiVersion", "")).rpartition("/")[0]
        # Without a name, because a create request has no name.
        yield Right(group, plural(kind.lower()), "escalate", namespace, instead=_given(obj, namespace))
    elif kind in ("RoleBinding", "ClusterRoleBinding"):
        ref = mapping(obj.get("roleRef"))
        owner, role = str(ref.get("kind", "")), str(ref.get("name", ""))
        bound = objects.get((owner, namespace if owner == "Role" else "", role), {})
        yield Right(
            str(ref.get("apiGroup", "")), plural(owner.lower()), "bind", namespace, role, _given(bound, namespace)
        )
    elif kind == "ValidatingAdmissionPolicy":
        yield from _parameters(obj, "get")
    elif kind == "ValidatingAdmissionPolicyBinding":
        spec = mapping(obj.get("spec"))
        if ref := mapping(spec.get("paramRef")):
            policy = objects.get(("ValidatingAdmissionPolicy", "", str(spec.get("policyName", ""))), {})
            yield from _parameters(policy, "get" if ref.get("name") else "list")


def _given(role: Object, namespace: str) -> tuple[Right, ...]:
    """The rights that a role grants in a namespace; none if it also grants others, such as on URLs."""
    rules = [mapping(rule) for rule in role.get("rules") or ()]
    if any("nonResourceURLs" in rule for rule in rules):
        return ()
    found = {
        Right(group, resource, verb, namespace, name)
        for rule in rules
        for group in rule.get("apiGroups") or ()
        for resource in rule.get("resources") or ()
        for verb in rule.get("verbs") or ()
        for name in rule.get("resourceNames") or ("",)
    }
    return tuple(sorted(found))


def _parameters(policy: Object, verb: str) -> Iterator[Right]:
    """The right to read the parameters of an admission policy, in all namespaces.

    The same helm command creates their kind, which the API server does not know immediately; until then, it requires
    the right for all resources of the group.
    """
    if kind := mapping(mapping(policy.get("spec")).get("paramKind")):
        yield Right(str(kind.get("apiVersion", "")).rpartition("/")[0], "*", verb)


def check(lacking: Sequence[Right] | None) -> list[Finding]:
    """One finding for each API group.

    lacking  the rights that the user lacks; None if unknown
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
                what = f"{right.resource}/{right.name}" if right.name else right.resource
                mine.setdefault((what, right.namespace), []).append(right.verb)
        parts = [
            f"{', '.join(verbs)} {what}{f' in namespace {namespace}' if namespace else ''}"
            for (what, namespace), verbs in mine.items()
        ]
        text = f"This user may not {'; '.join(parts)} (API group {group or 'core'})."
        found.append(Finding(subject, "problem", text, remedy))
    return found
