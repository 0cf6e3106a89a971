"""Executes the actions that write Secrets. Plans have no values: only this module generates, reads and copies them."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from stackwright.api.fields.lines import LINE
from stackwright.api.kinds import SECRET
from stackwright.cloud.registry import kind_of
from stackwright.core.digest import digest
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.core.objects import (
    AUTHORITY,
    DIGEST,
    EXPIRES,
    MUST_BE_TEXT,
    OPTIONS,
    annotation,
    belongs,
    is_text,
    key_of,
    secret_data,
    version_of,
)
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Ports
from stackwright.core.secrets import cephkeys, fernet, revisions
from stackwright.core.secrets.certificate_validity import is_authority_old, seconds_left
from stackwright.core.secrets.filling import fill, names
from stackwright.core.secrets.writes import (
    CephAccess,
    CopySecret,
    EnsureCertificate,
    EnsureSecret,
    ExtractSecret,
    GatherSecret,
    KeepRevision,
    RotateKeys,
    SecretOwner,
    SecretWrite,
)
from stackwright.runtime.cycle.owned_secrets import permitted, written
from stackwright.services.ingress import features as certificates


async def write(action: SecretWrite, ports: Ports, manager: str) -> None:
    await permitted(action.key, _owner(action), ports)
    match action:
        case EnsureSecret():
            await _ensure(action, ports, manager)
        case RotateKeys():
            await _rotate(action, ports, manager)
        case CopySecret():
            await _copy(action, ports, manager)
        case GatherSecret():
            await _gather(action, ports, manager)
        case EnsureCertificate():
            await _certify(action, ports, manager)
        case CephAccess():
            await _ceph(action, ports, manager)
        case ExtractSecret():
            await _extract(action, ports, manager)
        case KeepRevision():
            await _revision(action, ports, manager)


def _owner(action: SecretWrite) -> SecretOwner | None:
    owner = action.owner
    return owner if owner is None or isinstance(owner, SecretOwner) else SecretOwner(owner)


async def _ensure(action: EnsureSecret, ports: Ports, manager: str) -> None:
    """Write the Secret and keep existing fields: a password is generated once, and one set by a user is kept."""
    from stackwright.runtime import x509  # imported here: the volume provisioner runs without its library

    old = secret_data(current := await ports.cluster.get(SECRET, action.key))
    fields: dict[str, Any] = dict(action.fixed)
    for name in action.generated:
        fields[name] = old.get(name) or await _chosen(action, name, ports) or ports.entropy.password()
    for name in action.keypairs:
        pair = (old.get(name), old.get(f"{name}.pub"))
        fields[name], fields[f"{name}.pub"] = pair if all(pair) else x509.ssh_keypair()
    data = {**fields, **{name: _filled(text, fields, action.key) for name, text in action.templates.items()}}
    obj = written(action.key, _owner(action), data, {DIGEST: action.digest}, action.labels)
    if current:  # otherwise values that were written meanwhile would be replaced
        obj["metadata"] |= {name: current["metadata"][name] for name in ("uid", "resourceVersion")}
    await ports.cluster.apply(SECRET, obj, manager)


def _filled(text: str, fields: dict[str, Any], key: Key) -> str:
    """A template with its fields. Raises TerminalError if a field that is not quoted has several lines."""
    for name, quoted in names(text):
        if not quoted and not LINE.matches(fields[name]):
            raise TerminalError(f"field {name} of Secret {'/'.join(key)}: {LINE.message}")
    return fill(text, fields)


async def _chosen(action: EnsureSecret, name: str, ports: Ports) -> str:
    """The user's value for a generated field; empty if none is given."""
    if name not in action.given:
        return ""
    secret, key = action.given[name]
    return await _line((action.key[0], secret), key, ports)


async def _rotate(action: RotateKeys, ports: Ports, manager: str) -> None:
    current = await ports.cluster.get(SECRET, action.key)
    if annotation(current, fernet.ROTATED) != action.turned:
        raise Conflict(f"{action}: the keys were rotated meanwhile", SECRET, action.key)
    if current and not belongs(current, action.owner.uid):
        await _take_over(action, current, ports)
        return
    old, fresh = secret_data(current), ports.entropy.fernet_key
    keys = fernet.rotate(old, fresh(), action.max_active) if old else fernet.start(fresh(), fresh())
    notes = {fernet.ROTATED: str(math.ceil(ports.clock.now()))}
    obj = written(action.key, _owner(action), keys, notes)
    if current:
        obj["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
    await ports.cluster.apply(SECRET, obj, manager)


async def _take_over(action: RotateKeys, current: Object, ports: Ports) -> None:
    """Replace the owner of a repository, and keep its keys. An apply could not remove the reference to another owner
    that another client wrote, such as one who restored a backup.
    """
    meta = written(action.key, _owner(action), {}, {})["metadata"]
    patch = {name: meta[name] for name in ("labels", "ownerReferences")}
    patch["resourceVersion"] = current["metadata"]["resourceVersion"]
    await ports.cluster.patch(SECRET, action.key, {"metadata": patch})


async def _copy(action: CopySecret, ports: Ports, manager: str) -> None:
    """Write an oslo.config snippet with options whose values are in other Secrets."""
    lines = []
    for section in sorted(action.sections):
        lines.append(f"[{section}]")
        for option, (name, key) in sorted(action.sections[section].items()):
            lines.append(f"{option} = {await _line((action.key[0], name), key, ports)}")
    data = {action.field: "\n".join(lines) + "\n"}
    await ports.cluster.apply(SECRET, written(action.key, _owner(action), data, {DIGEST: action.digest}), manager)


async def _revision(action: KeepRevision, ports: Ports, manager: str) -> None:
    """Store the spec of a cloud; if it changed since the plan, the reconcile of that change stores it."""
    kind = kind_of(action.owner["kind"])
    current = await ports.cluster.get(kind, key_of(action.owner))
    spec = (current or {}).get("spec") or {}
    if current is None or digest(spec) != action.digest:
        return
    data = {revisions.FIELD: json.dumps(spec, sort_keys=True)}
    number = {revisions.NUMBER: str(action.number)}
    obj = written(action.key, _owner(action), data, {DIGEST: action.digest}, number)
    await ports.cluster.apply(SECRET, obj, manager)


async def _gather(action: GatherSecret, ports: Ports, manager: str) -> None:
    namespace = action.source or action.key[0]
    data = {field: await _value((namespace, name), key, ports) for field, (name, key) in action.fields.items()}
    obj = written(action.key, _owner(action), {**data, **action.fixed}, {DIGEST: action.digest})
    await ports.cluster.apply(SECRET, {**obj, "type": action.type}, manager)


async def _ceph(action: CephAccess, ports: Ports, manager: str) -> None:
    """Write the Secret of a Ceph client; OPTIONS is the digest of the fields that services read only at start."""
    given = secret_data(await ports.cluster.get(SECRET, action.source))
    try:
        data = cephkeys.access(given, action.spec, action.secret_uuid)
    except cephkeys.Missing as error:
        raise TransientError(f"Waiting for Secret {'/'.join(action.source)}: {error}") from None
    except cephkeys.CephKeysError as error:
        raise TerminalError(str(error)) from None
    except ValueError as error:
        raise TerminalError(f"Secret {'/'.join(action.source)}: {error}") from None
    notes = {DIGEST: action.digest, OPTIONS: digest(data["rbd.conf"])}
    await ports.cluster.apply(SECRET, written(action.key, _owner(action), data, notes), manager)


async def _extract(action: ExtractSecret, ports: Ports, manager: str) -> None:
    """Write texts from the spec; raises Conflict if they changed since the plan, which checked the former ones."""
    meta = action.owner["metadata"]
    obj = await ports.cluster.get(action.kind, (meta["namespace"], meta["name"])) or {"metadata": {}}
    data = {}
    for field, path in action.fields.items():
        text: Any = obj.get("spec")
        for part in path:
            text = text.get(part) if isinstance(text, dict) else None
        if (
            obj["metadata"].get("uid") != meta["uid"]
            or not isinstance(text, str)
            or certificates.key_of(path[-1], text) != field
        ):
            raise Conflict(f"{action}: the object changed", action.kind, key_of(action.owner))
        data[field] = text
    await ports.cluster.apply(SECRET, written(action.key, _owner(action), data, {DIGEST: action.digest}), manager)


async def _certify(action: EnsureCertificate, ports: Ports, manager: str) -> None:
    """Issue a certificate, or only record the version of its CA if the certificate is current. The CA has no owner,
    because clients trust it longer than any service object exists.
    """
    from stackwright.runtime import x509  # imported here: the volume provisioner runs without its library

    now = ports.clock.now()
    authority, found = await ports.cluster.get(SECRET, action.authority), await ports.cluster.get(SECRET, action.key)
    made, expires = secret_data(found), annotation(found, EXPIRES)
    if authority is None or not _is_current(action, found, secret_data(authority), now):
        authority = await _issuer(action, ports, manager)  # a current certificate needs no new CA
        try:
            made, end = x509.issue(
                secret_data(authority), action.names, action.addresses, now, action.subject, action.server_only
            )
        except ValueError as error:
            raise TerminalError(f"Secret {'/'.join(action.authority)} contains no usable CA: {error}") from None
        expires = str(int(end))
    notes = {DIGEST: action.digest, EXPIRES: expires, AUTHORITY: version_of(authority)}
    await ports.cluster.apply(SECRET, written(action.key, _owner(action), made, notes), manager)


def _is_current(action: EnsureCertificate, found: Object | None, issuer: dict[str, str], now: float) -> bool:
    """Whether a certificate is as desired, of this CA, and not due for renewal."""
    data, expires = secret_data(found), annotation(found, EXPIRES)
    return (
        {"tls.crt", "tls.key", "ca.crt"} <= data.keys()
        and data["ca.crt"] == issuer.get("ca.crt")
        and annotation(found, DIGEST) == action.digest
        and expires.isdecimal()
        and seconds_left(float(expires), now) > 0
    )


async def _issuer(action: EnsureCertificate, ports: Ports, manager: str) -> Object:
    """The CA, created if absent or old. Concurrent creations conflict, and the first CA is used: clients would not
    trust certificates of the others. Raises Conflict after a second conflict.
    """
    from stackwright.runtime import x509  # the provisioner of volumes runs without its library

    now, lost = ports.clock.now(), False
    while True:
        found = await ports.cluster.get(SECRET, action.authority)
        issuer = secret_data(found)
        if found and issuer.get("ca.key") and not _is_old(issuer, now):
            return found
        await permitted(action.authority, None, ports)
        issuer = x509.authority(f"Stackwright {action.authority[0]}", now)
        secret = written(action.authority, None, issuer, {})
        try:
            if found is None:
                return await ports.cluster.create(SECRET, secret, manager)
            secret["metadata"] |= {each: found["metadata"][each] for each in ("uid", "resourceVersion")}
            return await ports.cluster.apply(SECRET, secret, manager)
        except Conflict:  # another client created one meanwhile
            if lost:
                raise
            lost = True


def _is_old(issuer: dict[str, str], now: float) -> bool:
    from stackwright.runtime import x509  # imported here: the volume provisioner runs without its library

    try:
        return is_authority_old(x509.ends(issuer["ca.crt"]), now)
    except (KeyError, ValueError):
        return False  # a user's own CA: rejected with its name, never replaced


async def _line(secret: Key, key: str, ports: Ports) -> str:
    """A value of one line, without a trailing line break, which `kubectl create secret --from-file` keeps.

    Raises TerminalError for any other line break, because the rest would become another option.
    """
    value = re.sub(r"\r?\n\Z", "", await _value(secret, key, ports))
    if not LINE.matches(value):
        raise TerminalError(f"key {key} of Secret {'/'.join(secret)}: {LINE.message}")
    return value


async def _value(secret: Key, key: str, ports: Ports) -> str:
    data = secret_data(await ports.cluster.get(SECRET, secret))
    if key not in data:
        raise TransientError(f"Waiting for key {key} of Secret {'/'.join(secret)}")
    if not is_text(data[key]):
        raise TerminalError(f"key {key} of Secret {'/'.join(secret)}: {MUST_BE_TEXT}")
    return data[key]
