"""(OpenStackDeployment, its service objects) → Plan. Pure."""

from __future__ import annotations

from stackwright.api.kinds import SECRET
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.cloud.converge import Entry, another, converge, stopped
from stackwright.controllers.cloud.observe import Observed
from stackwright.controllers.cloud.validate import parse
from stackwright.core.conditions import Condition, blocked
from stackwright.core.objects import DIGEST, annotation, is_deleting, key_of
from stackwright.core.plan import Action, Delete, Plan
from stackwright.core.secrets.writes import ExtractSecret
from stackwright.services.ingress import features as certificates
from stackwright.services.ingress.features import GIVEN, WHERE, texts


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return Plan()  # owned objects are deleted by Kubernetes
    if (seen.obj.get("spec") or {}).get("draft") is True:
        return stopped(
            Condition("Ready", False, "Draft", "spec.draft is true: the operator does not process this object")
        )
    if seen.others:
        return stopped(another(seen.others))
    spec, errors = parse(seen.obj)
    if spec is None:
        return stopped(blocked("Ready", "InvalidSpec", "; ".join(errors)))
    made, surplus = _given(seen)
    return converge(seen, spec, Entry(first=tuple(made), last=tuple(surplus)))


def _given(seen: Observed) -> tuple[list[Action], list[Action]]:
    """Actions for the Secret of the spec's certificates: create it before a service names it, delete it without any."""
    found = texts(seen.obj["spec"])
    secret = next((each for each in seen.secrets if each["metadata"]["name"] == GIVEN), None)
    if not found:
        return [], [Delete(SECRET, key_of(secret), "the spec has no certificate")] if secret else []
    kind, key = OpenStackDeployment.KIND, (key_of(seen.obj)[0], GIVEN)
    fields = {certificates.key_of(field, text): (*WHERE, field) for field, text in found.items()}
    identity = {name: seen.obj["metadata"][name] for name in ("name", "namespace", "uid")}
    owner = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": identity}
    action = ExtractSecret(key, kind, owner, fields)
    there = annotation(secret, DIGEST) == action.digest and fields.keys() == ((secret or {}).get("data") or {}).keys()
    return ([] if there else [action]), []
