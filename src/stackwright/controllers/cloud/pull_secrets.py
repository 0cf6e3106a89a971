"""Pull Secrets: copies of those of the operator's chart in the namespace of a cloud, for the pods there. Pure.

A copy has the name of the original and changes with it. A Secret of this name that the cloud does not own is a user's:
it is used unchanged. The operator only copies Secrets of the current type for credentials of registries; a user's
Secret may also have the older type.
"""

from __future__ import annotations

from collections.abc import Mapping

from stackwright.api.kinds import SECRET
from stackwright.controllers.cloud.observe import Observed
from stackwright.core.conditions import Condition, blocked, done
from stackwright.core.digest import digest
from stackwright.core.objects import DIGEST, OWNER, annotation, key_of, label, owner_label, version_of
from stackwright.core.plan import Action, Delete, Object
from stackwright.core.secrets.writes import GatherSecret

TYPE, FIELD = "kubernetes.io/dockerconfigjson", ".dockerconfigjson"
OF_USERS = {TYPE: FIELD, "kubernetes.io/dockercfg": ".dockercfg"}  # type that kubelet accepts → key in its data
STAGE = "PullSecrets"
POLL = 5.0  # seconds, while a Secret is missing or invalid
REFRESH = 60.0  # seconds, to detect a change of an original, which no watch reports


def copies(seen: Observed) -> tuple[list[Action], list[Condition], float | None]:
    """The actions, the conditions if the operator has pull Secrets, and the seconds until the next check."""
    actions: list[Action] = []
    missing: list[str] = []
    invalid: list[str] = []
    namespace = key_of(seen.obj)[0]
    for name, (original, there) in seen.pull_secrets.items():
        given = original if there is None or _is_copy(seen, there) else there
        if given is None:
            where = f"{seen.settings.namespace}/{name}"
            missing.append(f"Secret {where} does not exist; create it")
        elif _field(given, {TYPE: FIELD} if given is original else OF_USERS) not in (given.get("data") or {}):
            invalid.append(f"Secret {'/'.join(key_of(given))} must have the type {TYPE} and the key {FIELD}")
        elif given is original and namespace != seen.settings.namespace:
            made = digest(name, version_of(original), seen.obj["metadata"]["uid"])
            if there is None or annotation(there, DIGEST) != made or FIELD not in (there.get("data") or {}):
                fields = {FIELD: (name, FIELD)}
                source = seen.settings.namespace
                actions.append(GatherSecret((namespace, name), seen.obj, fields, made, source=source, type=TYPE))
    known = seen.settings.pull_secrets
    old = [each for each in seen.secrets if each.get("type") == TYPE and key_of(each)[1] not in known]
    actions += [Delete(SECRET, key_of(each), "no longer a pull Secret of the operator") for each in old]
    if not seen.pull_secrets:
        return actions, [], None
    if missing or invalid:
        text = "; ".join([*missing, *invalid])
        return actions, [blocked(STAGE, "PullSecretMissing" if missing else "PullSecretInvalid", text)], POLL
    return actions, [done(STAGE)], REFRESH


def _field(secret: Object, fields: Mapping[str, str]) -> str | None:
    return fields.get(secret.get("type") or "")


def _is_copy(seen: Observed, there: Object) -> bool:
    return label(there, OWNER) == owner_label(seen.obj)
