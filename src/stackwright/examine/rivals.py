"""Other installations: conflicting kinds, webhooks, clouds and IngressClasses. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from stackwright.api.kinds import INGRESS_CLASS, MUTATING_WEBHOOK, NAMESPACE, SERVICE, VALIDATING_WEBHOOK
from stackwright.cloud.registry import RESOURCES
from stackwright.core.findings import Finding
from stackwright.core.objects import annotation, is_deleting, key_of, label, mapping
from stackwright.core.plan import Object
from stackwright.core.settings import OPERATOR_RELEASE
from stackwright.examine.demand import Demand
from stackwright.examine.observe import Observed, operator_namespace
from stackwright.examine.probe.pod import LABELS

CATEGORY = "stackwright"  # the category of our kinds
HELM = "meta.helm.sh/release-"
GROUPS = frozenset(resource.KIND.group for resource in RESOURCES)
PLURALS = frozenset(resource.KIND.plural for resource in RESOURCES)


def check(seen: Observed, demand: Demand) -> list[Finding]:
    found = [*_kinds(seen), *_webhooks(seen), *_clouds(seen, demand), *_ingress_classes(seen, demand), *_left(seen)]
    if not found:
        found = [Finding("other installations", "ok", "None is in the way.")]
    return [*found, *_load_balancers(seen)]


def _kinds(seen: Observed) -> Iterator[Finding]:
    for name, crd in sorted(seen.kinds.items()):
        names = mapping(mapping(crd.get("spec")).get("names"))
        installed = annotation(crd, f"{HELM}name") == OPERATOR_RELEASE  # by an earlier version, without the category
        if CATEGORY not in (names.get("categories") or ()) and not installed:
            text = "It belongs to another program, whose objects an installation would change."
            remedy = f"Uninstall that program, or use another cluster; `kubectl get crd {name} -o yaml` shows it."
            yield Finding(f"CustomResourceDefinition {name}", "problem", text, remedy)


def _webhooks(seen: Observed) -> Iterator[Finding]:
    """Other clients' webhooks for our kinds, and our own webhook without an operator."""
    for kind in (VALIDATING_WEBHOOK, MUTATING_WEBHOOK):
        for obj in seen.all(kind):
            name = obj["metadata"]["name"]
            ours = kind == VALIDATING_WEBHOOK and name == OPERATOR_RELEASE
            if not any(_concerns(each) for each in obj.get("webhooks") or ()) or (ours and seen.operator):
                continue
            if ours and seen.hidden:
                text = f"It checks our kinds; whether its operator is installed is unknown: {seen.hidden}."
                yield Finding(f"{kind.kind} {name}", "note", text, "Use a user who may read the operator's Deployment.")
                continue
            text = (
                f"It checks our kinds, but its operator is not installed in the namespace {operator_namespace([obj])}."
                if ours
                else "It checks our kinds for another program."
            )
            yield Finding(f"{kind.kind} {name}", "problem", text, f"`kubectl delete {kind.plural} {name}`")


def _concerns(webhook: Object) -> bool:
    return any(
        GROUPS & set(rule.get("apiGroups") or ()) and (PLURALS | {"*"}) & set(rule.get("resources") or ())
        for rule in webhook.get("rules") or ()
    )


def _clouds(seen: Observed, demand: Demand) -> Iterator[Finding]:
    """Another cloud in a namespace of the manifests, which can have only one."""
    for cloud in seen.clouds:
        key = key_of(cloud)
        if key[0] in demand.namespaces and demand.clouds.get(key) != cloud["kind"]:
            text = f"The namespace has the {cloud['kind']} {key[1]} already; it may have one cloud."
            remedy = f"Set another metadata.namespace, or delete that cloud: `stackwright delete {key[1]} -n {key[0]}`."
            yield Finding(f"namespace {key[0]}", "problem", text, remedy)


def _ingress_classes(seen: Observed, demand: Demand) -> Iterator[Finding]:
    for obj in seen.all(INGRESS_CLASS):
        name = obj["metadata"]["name"]
        owner = (annotation(obj, f"{HELM}namespace"), annotation(obj, f"{HELM}name"))
        if name in demand.ingress_classes and owner != demand.ingress_classes[name]:
            whose = f"the release {'/'.join(owner)}" if all(owner) else "another program"
            text = f"It belongs to {whose}, so the ingress of this cloud cannot be installed."
            yield Finding(
                f"IngressClass {name}", "problem", text, f"`kubectl delete ingressclass {name}`, if it is not used."
            )


def _left(seen: Observed) -> Iterator[Finding]:
    """Namespaces that remain from killed examinations of nodes."""
    for obj in seen.all(NAMESPACE):
        if all(label(obj, name) == value for name, value in LABELS.items()) and not is_deleting(obj):
            name = obj["metadata"]["name"]
            text = "It is left from an examination of nodes that was killed."
            yield Finding(f"namespace {name}", "note", text, f"`kubectl delete namespace {name}`")


def _load_balancers(seen: Observed) -> list[Finding]:
    """A note for users with a load balancer before the ingress; a cloud needs none, because it listens on the nodes."""
    asked = [each for each in seen.all(SERVICE) if mapping(each.get("spec")).get("type") == "LoadBalancer"]
    served = [each for each in asked if mapping(mapping(each.get("status")).get("loadBalancer")).get("ingress")]
    subject = "load balancer"
    if served:
        return [Finding(subject, "ok", "The cluster provides load balancers.")]
    if not asked:
        return []
    text = f"No Service of type LoadBalancer has an address, such as {'/'.join(key_of(asked[0]))}."
    return [Finding(subject, "note", text, "The ingress of a cloud needs none; it listens on ports of the nodes.")]
