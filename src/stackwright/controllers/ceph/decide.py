"""(clients, handed-over objects, health) → requests, credentials, conditions. Pure.

The provider may be our own small Ceph, Rook or an administrator. It gets a ConfigMap with the requested
clients and pools and, for its gateway, a Secret with the user that authenticates at Keystone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from stackwright.api.kinds import CONFIGMAP, SECRET
from stackwright.controllers.ceph.observe import SOURCES, Observed
from stackwright.controllers.claimants import owners
from stackwright.core.conditions import Condition, blocked, done
from stackwright.core.digest import digest
from stackwright.core.objects import (
    DIGEST,
    MANAGED,
    OWNER,
    annotation,
    has_finalizer,
    is_deleting,
    key_of,
    owner_reference,
)
from stackwright.core.plan import Action, Apply, Delete, Finalizer, Key, Object, Plan, Publish
from stackwright.core.secrets.writes import GatherSecret
from stackwright.services.ceph.clients import claims
from stackwright.services.ceph.exchange import ownership_error
from stackwright.services.ceph.features import CephSettings
from stackwright.services.ceph.kind import Ceph
from stackwright.services.ceph.values import (
    CONDITIONS,
    EXCHANGE,
    GATEWAY,
    GATEWAY_CREDENTIALS,
    GATEWAY_URLS,
    HEALTH,
    KEYS,
    REQUESTS,
)

REFRESH = 15.0  # seconds until a change in an external Ceph's Secret is noticed


def decide(seen: Observed) -> Plan:
    if seen.settings is None:
        return Plan()
    if is_deleting(seen.obj):
        return _withdraw(seen, seen.settings)
    # Objects of an external Ceph are not watched.
    again = None if seen.settings.trial else REFRESH
    if other := ownership_error(seen.settings, seen.requests, key_of(seen.obj)):
        return Plan((), (blocked(EXCHANGE, "Taken", other),), requeue=again)
    actions: list[Action] = []
    if not seen.settings.trial and not has_finalizer(seen.obj):
        actions.append(Finalizer(Ceph.KIND, seen.obj, True))  # objects in another namespace are not garbage-collected
    wanted = _requests(seen, seen.settings)
    if (
        any(annotation(seen.requests, name) != annotation(wanted, name) for name in (DIGEST, OWNER))
        or (seen.requests or {}).get("data") != wanted["data"]
    ):
        actions.append(Apply(CONFIGMAP, wanted, "absent" if seen.requests is None else "changed"))
    if seen.health is None:
        actions.append(Apply(CONFIGMAP, _health(seen), "absent"))
    actions += [*_credentials(seen, seen.settings), *_urls(seen, seen.settings)]
    return Plan(tuple(actions), (done(EXCHANGE), *_conditions(seen.health)), requeue=again)


def request(spec: dict[str, Any]) -> dict[str, Any]:
    """The request of one client: its pools and capabilities. Pools that it only reads are created for their writers."""
    pools = spec["pools"]
    rights = [f"profile rbd{'-read-only' if pool.get('readOnly') else ''} pool={pool['name']}" for pool in pools]
    return {
        "pools": [{"name": pool["name"], "role": pool["role"]} for pool in pools],
        "caps": {"mon": "profile rbd", "osd": ", ".join(rights)},
    }


def _asked(clients: Sequence[Object], ceph: str) -> dict[str, Any]:
    """Client → request, of each object that owns all its claims; other objects report why they have no request."""
    owner = owners(clients, claims)
    return {
        each["spec"]["client"]: request(each["spec"])
        for each in clients
        if not is_deleting(each)
        and each["spec"].get("instance") == ceph
        and (mine := claims(each))
        and all(owner[claim] is each for claim in mine)
    }


def _requests(seen: Observed, settings: CephSettings) -> Object:
    namespace, name = key_of(seen.obj)
    asked = _asked(seen.clients, name)
    data = {"requests.json": json.dumps({"clients": asked}, indent=2, sort_keys=True)}
    owned = {"ownerReferences": [owner_reference(seen.obj)]} if settings.trial else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "namespace": settings.exchange(namespace),
            "name": REQUESTS,
            "labels": dict(MANAGED),
            "annotations": {
                DIGEST: digest(data, seen.obj["metadata"]["uid"]),
                OWNER: "/".join(key_of(seen.obj)),
            },
            **owned,
        },
        "data": data,
    }


def _health(seen: Observed) -> Object:
    """The ConfigMap for the results of `ceph-watch`. Created here, so that it is watched, and deleted with the Ceph."""
    namespace, _ = key_of(seen.obj)
    owners = [owner_reference(seen.obj)]
    meta = {"namespace": namespace, "name": HEALTH, "labels": dict(MANAGED), "ownerReferences": owners}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def _credentials(seen: Observed, settings: CephSettings) -> list[Action]:
    """Credentials for the gateway of an external Ceph; our own Ceph does not need them."""
    if settings.trial or seen.gateway is None or any(found is None for found in seen.sources.values()):
        return []
    user, tls = SOURCES
    fields = {name: (user, name) for name in ("auth_url", "username", "password", "region_name")}
    fields |= {"ca_cert": (tls, "ca.crt"), "tls_crt": (tls, "tls.crt"), "tls_key": (tls, "tls.key")}
    fixed = {
        "project_name": "service",
        "project_domain_name": "Default",
        "user_domain_name": "Default",
        "default_domain": "Default",
        "interface": "internal",
        "public_domain": str((seen.obj.get("spec") or {}).get("publicDomain", "")),
        "barbican_url": "",
    }
    versions = {name: (found or {})["metadata"].get("resourceVersion") for name, found in seen.sources.items()}
    made = digest(fields, fixed, versions)
    if annotation(seen.credentials, DIGEST) == made:
        return []
    key: Key = (settings.shared_namespace, GATEWAY_CREDENTIALS)
    return [GatherSecret(key, None, fields, made, fixed, key_of(seen.obj)[0])]


def _urls(seen: Observed, settings: CephSettings) -> list[Action]:
    """Publishes the URLs of an external gateway; they are not secret, although a Secret contains them."""
    if settings.trial or seen.gateway is None or seen.keys is None:
        return []
    meta = seen.keys["metadata"]
    made = digest(meta.get("uid"), meta.get("resourceVersion"), seen.obj["metadata"]["uid"])
    if annotation(seen.urls, DIGEST) == made:
        return []
    namespace, _ = key_of(seen.obj)
    source = (settings.shared_namespace, KEYS)
    return [Publish((namespace, GATEWAY), seen.obj, source, GATEWAY_URLS, made)]


def _withdraw(seen: Observed, settings: CephSettings) -> Plan:
    """Withdraws the requests. Pools and their content stay, because the provider of Ceph decides about data."""
    if not has_finalizer(seen.obj):
        return Plan()
    gone = Finalizer(Ceph.KIND, seen.obj, False)
    foreign = ownership_error(settings, seen.requests, key_of(seen.obj))
    found = [] if foreign else [(CONFIGMAP, seen.requests), (SECRET, seen.credentials)]
    mine = [Delete(kind, key_of(obj), "its Ceph object is deleted") for kind, obj in found if obj is not None]
    return Plan((*mine, gone))


def _conditions(health: Object | None) -> tuple[Condition, ...]:
    """Conditions that `ceph-watch` wrote; empty if they are invalid."""
    try:
        report = json.loads(((health or {}).get("data") or {}).get("health.json") or "{}")
        entries = {entry["type"]: entry for entry in report.get("conditions") or ()}
        return tuple(
            Condition(name, bool(entries[name]["status"]), str(entries[name]["reason"]), str(entries[name]["message"]))
            for name in CONDITIONS
            if name in entries
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return ()
