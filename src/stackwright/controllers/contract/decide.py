"""(contract, provider, Secret) → Plan. Pure.

The Secret is created first, so that a user of the contract can already mount it. When the provider serves, the account
is created with the password in that Secret. A digest of the spec and of the Secret's identity identifies the created
account: a recreated Secret has another password, which must be set.

A provider that lost its data has lost the account. The loss is counted before the account is recreated, even if other
changes are pending, and the count is kept: it shows the users of the account that they have lost data at the provider.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from pydantic import ValidationError

from stackwright.api.errors import messages
from stackwright.controllers.claimants import order, taken
from stackwright.controllers.contract.objects import claims, fulfilled, secret_of, serving_since, uid
from stackwright.controllers.contract.observe import Observed
from stackwright.core.conditions import (
    Condition,
    blocked,
    done,
    is_serving,
    waiting,
    waiting_for,
    why_not_serving,
)
from stackwright.core.digest import digest
from stackwright.core.objects import DIGEST, annotation, has_finalizer, is_deleting
from stackwright.core.plan import Action, Finalizer, Object, Plan, staged
from stackwright.core.secrets.writes import EnsureSecret, SecretOwner

RECHECK, SPREAD = 300, 120  # seconds
AGAIN, LOOK = 0.5, 15.0


@dataclass(frozen=True)
class Record:
    """The recorded state in the status.

    digest    digest of the account as created
    provider  uid of the provider that has the account
    losses    number of losses
    since     start of the provider's ready period in which the account was last confirmed
    """

    digest: str
    provider: str
    losses: int
    since: str


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return _remove(seen)
    record = _record(seen.obj)
    try:
        spec = seen.valid_spec()
    except ValidationError as error:
        return _report(
            seen, (), blocked("Account", "InvalidSpec", "; ".join(messages(error, seen.contract.spec))), record
        )
    if taken := _taken(seen):
        return _report(seen, (), blocked("Account", "Taken", taken), record)
    if seen.missing and record.digest:  # an account that was never created cannot be lost
        return _lost(seen, record)
    namespace = seen.obj["metadata"]["namespace"]
    actions: list[Action] = []
    secret = EnsureSecret(
        (namespace, secret_of(seen.obj)),
        SecretOwner(seen.obj),
        seen.contract.generated(spec),
        fixed=seen.contract.fixed(spec, namespace),
        templates=seen.contract.templates(spec),
    )
    if annotation(seen.secret, DIGEST) != secret.digest:
        actions.append(secret)
    if seen.secret is None:
        return _report(seen, tuple(actions), waiting("Account", "Creating the Secret", "Applying"), record)
    return _account(seen, spec, actions, record)


def _record(obj: Object) -> Record:
    status = obj.get("status") or {}
    digest, provider, since = (str(status.get(name) or "") for name in ("digest", "providerUid", "providerSince"))
    return Record(digest, provider, int(status.get("losses") or 0), since)


def _taken(seen: Observed) -> str:
    """A message with the parts of this account that belong to an older object; empty without any."""
    return taken(seen.obj, seen.others, partial(claims, seen.contract))


def _account(seen: Observed, spec: object, actions: list[Action], record: Record) -> Plan:
    namespace = seen.obj["metadata"]["namespace"]
    wanted = fulfilled(seen.contract, seen.obj, seen.secret, seen.instance)
    made = Record(wanted, uid(seen.instance), record.losses, serving_since(seen.instance))
    if record.digest == made.digest and has_finalizer(seen.obj) and not actions:
        known = replace(made, since=seen.since or record.since)
        return _report(seen, (), done("Account"), known, LOOK if seen.silent else _recheck(seen.obj))
    provider = f"{seen.contract.instance_kind.kind} {namespace}/{seen.obj['spec']['instance']}"
    if not is_serving(seen.instance):
        stage = waiting_for("Account", provider, why_not_serving(seen.instance))
        return _report(seen, tuple(actions), stage, record)
    if record.digest and seen.silent:  # recreating an account before its loss is known would hide the loss
        return _report(seen, tuple(actions), waiting_for("Account", provider, seen.silent), record, LOOK)
    if record.digest and record.provider not in ("", made.provider):  # a new provider without the account
        made = replace(made, losses=made.losses + 1)
    # The action runs before the report: if it fails, this status is not written. The finalizer is set before the
    # action.
    if not has_finalizer(seen.obj):
        actions.append(Finalizer(seen.contract.kind, seen.obj, True))
    account = seen.contract.action(spec, namespace, False)
    return _report(seen, (*actions, account), done("Account"), made, _recheck(seen.obj))


def _lost(seen: Observed, record: Record) -> Plan:
    """Write the condition and the count first, so that no crash hides the loss; the next reconcile recreates the
    account.
    """
    name = f"{seen.contract.instance_kind.kind} {seen.obj['spec']['instance']}"
    stage = waiting("Account", f"{name} has lost {seen.missing}; the operator recreates it", "AccountMissing")
    return _report(seen, (), stage, replace(record, digest="", losses=record.losses + 1), AGAIN)


def _recheck(obj: Object) -> float:
    """Seconds until the next check of the account, spread so that not all accounts are checked at the same time."""
    return RECHECK + int(digest(obj["metadata"].get("uid")), 16) % SPREAD


def _report(
    seen: Observed, actions: tuple[Action, ...], stage: Condition, record: Record, requeue: float | None = None
) -> Plan:
    status = {
        "digest": record.digest,
        "secretName": secret_of(seen.obj),
        "providerUid": record.provider,
        "losses": record.losses,
        "providerSince": record.since,
    }
    return staged([stage], status, actions, requeue)


def _remove(seen: Observed) -> Plan:
    """Delete the account, unless its provider is deleted too.

    The finalizer is set immediately before the account is created. It therefore shows that an account may exist, even
    if the status contains none.
    """
    if not has_finalizer(seen.obj):
        return Plan()
    gone = Finalizer(seen.contract.kind, seen.obj, False)
    if seen.instance is None or is_deleting(seen.instance) or _taken(seen):
        return Plan((gone,))
    if not is_serving(seen.instance):
        name = f"{seen.contract.instance_kind.kind} {seen.instance['metadata']['name']}"
        stage = waiting(
            "Account", f"Waiting for {name} to delete the account: {why_not_serving(seen.instance)}", "Deleting"
        )
        return _report(seen, (), stage, _record(seen.obj))
    try:
        spec = seen.valid_spec()
    except ValidationError:
        return Plan((gone,))  # no account was created from an invalid spec
    action = seen.contract.action(spec, seen.obj["metadata"]["namespace"], True)
    instance = seen.obj["spec"].get("instance")
    # If several objects are deleted at once, the oldest one removes the shared resources.
    stays = [each for each in seen.others if not is_deleting(each) or order(each) < order(seen.obj)]
    others = [each["spec"] for each in stays if each["spec"].get("instance") == instance]
    return Plan((seen.contract.kept(action, others), gone))
