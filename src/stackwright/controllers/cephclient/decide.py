"""(client, credentials from the Ceph provider) → the Secret of the client. Pure.

New keys and monitors reach the Secret and, through it, the files in the pods. Clients read the files when they connect,
so nothing is restarted. The keys of an external Ceph are in a Secret that the operator polls and does not watch. They
are for clients of the Ceph object that owns the namespace of this Secret (`services/ceph/exchange.py`).
"""

from __future__ import annotations

import uuid

from pydantic import ValidationError

from stackwright.api.errors import messages
from stackwright.api.services.contracts import CephClientSpec
from stackwright.controllers.cephclient.observe import Observed
from stackwright.controllers.claimants import taken
from stackwright.core.conditions import Condition, blocked, done, waiting, waiting_for
from stackwright.core.digest import digest
from stackwright.core.objects import DIGEST, annotation, is_deleting
from stackwright.core.plan import Action, Key, Plan, staged
from stackwright.core.secrets.cephkeys import MONITORS
from stackwright.core.secrets.writes import CephAccess
from stackwright.services.ceph import exchange
from stackwright.services.ceph.clients import claims
from stackwright.services.ceph.values import KEYS, REQUESTS

STAGE = "Account"
POLL = 3.0
REFRESH = 15.0  # seconds until a change of an external Ceph's keys is noticed
_UUIDS = uuid.UUID("7d1b5a3e-3c0f-5c64-9f0e-6f0c7a1d2b43")


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return Plan()  # its Secret is garbage-collected; the Ceph controller's next reconcile withdraws its request
    try:
        spec = CephClientSpec.model_validate(seen.obj["spec"])
    except ValidationError as error:
        return _report(seen, blocked(STAGE, "InvalidSpec", "; ".join(messages(error, CephClientSpec))))
    if older := taken(seen.obj, seen.others, claims):
        return _report(seen, blocked(STAGE, "Taken", older))
    meta = seen.obj["metadata"]
    if seen.settings is None:
        return _report(seen, waiting_for(STAGE, f"Ceph {meta['namespace']}/{spec.instance}", "it does not exist"))
    trial, source = seen.settings.trial, (seen.settings.exchange(meta["namespace"]), KEYS)
    ceph = (meta["namespace"], spec.instance)
    if other := exchange.ownership_error(seen.settings, seen.requests, ceph):
        return _report(seen, blocked(STAGE, "Taken", other), requeue=REFRESH)
    lack = _lacking(seen, source, spec.client)
    if not lack and not exchange.owns_exchange(seen.settings, seen.requests, ceph):
        lack = f"Waiting for ConfigMap {source[0]}/{REQUESTS}: it does not name Ceph {'/'.join(ceph)} as its owner"
    if lack:
        return _report(seen, waiting(STAGE, lack, "WaitingForCeph"), requeue=None if trial else POLL)
    version = (seen.keys or {})["metadata"]
    made = digest(seen.obj["spec"], version.get("uid"), version.get("resourceVersion"), meta["uid"])
    refresh = None if trial else REFRESH
    if annotation(seen.secret, DIGEST) == made:
        return _report(seen, done(STAGE), made, refresh)
    access = CephAccess(
        (meta["namespace"], spec.secret_name),
        seen.obj,
        source,
        spec.model_dump(by_alias=False),
        secret_uuid(meta["namespace"], spec.client),
        made,
    )
    return _report(seen, done(STAGE), made, refresh, access)


def secret_uuid(namespace: str, client: str) -> str:
    """UUID of libvirt's secret: the same on all nodes, and after a new deployment of the same client."""
    return str(uuid.uuid5(_UUIDS, f"{namespace}/{client}"))


def _lacking(seen: Observed, source: Key, client: str) -> str:
    namespace, name = source
    where = f"Waiting for Secret {namespace}/{name} of Ceph"
    asked = f"the request is in ConfigMap {namespace}/{REQUESTS}"
    if seen.keys is None:
        return f"{where}: it does not exist; {asked}"
    missing = [field for field in (MONITORS, client) if field not in (seen.keys.get("data") or {})]
    return f"{where}: it lacks {' and '.join(missing)}; {asked}" if missing else ""


def _report(seen: Observed, stage: Condition, made: str = "", requeue: float | None = None, *actions: Action) -> Plan:
    status = {"digest": made, "secretName": str(seen.obj["spec"].get("secretName", ""))}
    return staged([stage], status, actions, requeue)
