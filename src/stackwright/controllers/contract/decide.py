"""(contract, provider, Secret) → Plan. Pure.

The Secret comes first, so that a user of the contract can already mount it; then, when the provider is ready, the
account is made with the password in that Secret. What was made is known by a digest of the spec and of the Secret's
identity: a Secret that was deleted and made anew has another password, which must be set.
"""

from __future__ import annotations

from pydantic import ValidationError

from stackwright.api.errors import messages
from stackwright.controllers.contract.objects import claims, order, secret_of
from stackwright.controllers.contract.observe import Observed
from stackwright.core.conditions import Condition, blocked, done, is_ready, summary, waiting, why_not_ready
from stackwright.core.digest import digest
from stackwright.core.objects import DIGEST, annotation, has_finalizer, is_deleting
from stackwright.core.plan import Action, Finalizer, Object, Plan
from stackwright.core.secretwrites import EnsureSecret

RECHECK, SPREAD = 300, 120  # seconds
AGAIN = 0.5


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return _remove(seen)
    try:
        spec = seen.contract.spec.model_validate(seen.obj["spec"])
    except ValidationError as error:
        return _report(seen, (), blocked("Account", "InvalidSpec", "; ".join(messages(error, seen.contract.spec))), "")
    if taken := _taken(seen):
        return _report(seen, (), blocked("Account", "Taken", taken), "")
    if seen.missing:
        return _lost(seen)
    namespace = seen.obj["metadata"]["namespace"]
    actions: list[Action] = []
    if not has_finalizer(seen.obj):
        actions.append(Finalizer(seen.contract.kind, seen.obj, True))
    secret = EnsureSecret(
        (namespace, secret_of(seen.obj)),
        seen.obj,
        seen.contract.generated,
        fixed=seen.contract.fixed(spec, namespace),
        templates=seen.contract.templates(spec),
    )
    if annotation(seen.secret, DIGEST) != secret.digest:
        actions.append(secret)
    if seen.secret is None:
        return _report(seen, tuple(actions), waiting("Account", "The Secret is being made", "Applying"), "")
    return _account(seen, spec, actions)


def _taken(seen: Observed) -> str:
    """What of this account belongs to an older object, and to which; empty if nothing."""
    mine = claims(seen.contract, seen.obj)
    for other in sorted(seen.others, key=order):
        if order(other) < order(seen.obj) and (same := mine & claims(seen.contract, other)):
            name = f"{seen.contract.kind.kind} {other['metadata']['name']}"
            return f"{', '.join(sorted(same))} belongs to {name}; choose another name, or delete that object"
    return ""


def _account(seen: Observed, spec: object, actions: list[Action]) -> Plan:
    namespace = seen.obj["metadata"]["namespace"]
    provider = ((seen.instance or {}).get("metadata") or {}).get("uid")
    made = digest(seen.obj["spec"], (seen.secret or {}).get("metadata", {}).get("uid"), provider)
    before = str((seen.obj.get("status") or {}).get("digest") or "")
    if before == made and not actions:
        return _report(seen, (), done("Account"), made, _recheck(seen.obj))
    if not is_ready(seen.instance):
        name = f"{seen.contract.instance_kind.kind} {namespace}/{seen.obj['spec']['instance']}"
        return _report(
            seen, tuple(actions), waiting("Account", f"Waiting for {name}: {why_not_ready(seen.instance)}"), before
        )
    # The action runs before the report: if it fails, this status is not written.
    account = seen.contract.action(spec, namespace, False)
    return _report(seen, (*actions, account), done("Account"), made, _recheck(seen.obj))


def _lost(seen: Observed) -> Plan:
    """First the condition, so that whoever reads it learns of the loss; the account is made at the next look."""
    name = f"{seen.contract.instance_kind.kind} {seen.obj['spec']['instance']}"
    stage = waiting("Account", f"{name} has lost {seen.missing}; it is made again", "AccountMissing")
    return _report(seen, (), stage, "", AGAIN)


def _recheck(obj: Object) -> float:
    """Accounts are checked once in a while, not all at the same time."""
    return RECHECK + int(digest(obj["metadata"].get("uid")), 16) % SPREAD


def _report(
    seen: Observed, actions: tuple[Action, ...], stage: Condition, made: str, requeue: float | None = None
) -> Plan:
    status = {"digest": made, "secretName": secret_of(seen.obj)}
    return Plan(actions, (*summary([stage]), stage), status, requeue)


def _remove(seen: Observed) -> Plan:
    """Take the account away, unless its provider goes away too: then there is nothing left to take it from."""
    if not has_finalizer(seen.obj):
        return Plan()
    gone = Finalizer(seen.contract.kind, seen.obj, False)
    if seen.instance is None or is_deleting(seen.instance) or _taken(seen):
        return Plan((gone,))
    if not is_ready(seen.instance) and not (seen.obj.get("status") or {}).get("digest"):
        return Plan((gone,))  # as far as we know nothing was made
    if not is_ready(seen.instance):
        name = f"{seen.contract.instance_kind.kind} {seen.instance['metadata']['name']}"
        stage = waiting(
            "Account", f"Waiting for {name} to take the account away: {why_not_ready(seen.instance)}", "Deleting"
        )
        return _report(seen, (), stage, str(seen.obj["status"]["digest"]))
    try:
        spec = seen.contract.spec.model_validate(seen.obj["spec"])
    except ValidationError:
        return Plan((gone,))  # nothing was ever made of such a spec
    action = seen.contract.action(spec, seen.obj["metadata"]["namespace"], True)
    instance = seen.obj["spec"].get("instance")
    others = [each["spec"] for each in seen.others if each["spec"].get("instance") == instance]
    return Plan((seen.contract.kept(action, others), gone))
