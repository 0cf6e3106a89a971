"""The end of a server: everything that is recorded or marked goes, and then the object. Pure.

Neither the spec nor anything it names is needed, and nothing is ever made. Where the credentials are gone for good,
`spec.credentialsLostPolicy` is the way out, which can be changed at any time.
"""

from __future__ import annotations

from typing import Any

from stackwright.controllers.server.observe import AUTHENTICATION, KIND, Observed
from stackwright.controllers.server.record import record_of, written
from stackwright.core.belongings import Owner, Record, removal
from stackwright.core.conditions import Condition, summary, waiting
from stackwright.core.objects import has_finalizer
from stackwright.core.plan import Action, Finalizer, Plan, Warn

DELETED = "Deleted"
POLL = 15.0


def leave(seen: Observed) -> Plan:
    if not has_finalizer(seen.obj):
        return Plan()
    record = record_of(seen.obj.get("status") or {})
    policy = seen.spec.get("credentialsLostPolicy") or "Wait"
    lost = seen.trouble is not None and seen.trouble.type == AUTHENTICATION
    if policy == "Orphan" or (policy == "Detach" and lost):
        return _detached(seen, record)
    if seen.trouble or seen.look is None or seen.cloud is None:
        return _report(seen, (), _held(seen.trouble))
    found = removal(Owner(seen.cloud, seen.obj["metadata"]["uid"]), record, seen.look)
    if not found.whole:
        stage = waiting(DELETED, found.wait, "Deleting")
        return _report(seen, found.calls, stage, **written(found.record))
    return Plan((Finalizer(KIND, seen.obj, False),))


def _held(trouble: Condition | None) -> Condition:
    text = trouble.message if trouble else "spec.identityRef names no credentials"
    out = "; or set spec.credentialsLostPolicy to Detach, which leaves in the cloud what is there"
    return waiting(DELETED, f"{text}{out}", trouble.reason if trouble else "CredentialsMissing")


def _detached(seen: Observed, record: Record) -> Plan:
    left = ", ".join(f"{what} {id_}" for (what, _), id_ in record.items())
    told = (Warn(seen.obj, "LeftBehind", f"Left in the cloud: {left}"),) if left else ()
    return Plan((*told, Finalizer(KIND, seen.obj, False)))


def _report(seen: Observed, actions: tuple[Action, ...], stage: Condition, **status: Any) -> Plan:
    return Plan(actions, (*summary([stage]), stage), {"ready": False, **status}, POLL)
