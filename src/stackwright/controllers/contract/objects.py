"""The declaration of a contract kind: its Secret and the action that fulfils it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api.meta import CamelModel, Kind
from stackwright.core.conditions import READY, SERVING, find
from stackwright.core.digest import digest
from stackwright.core.objects import is_deleting
from stackwright.core.plan import EnsureAccount, Object

Raw = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Contract:
    """fixed, templates  fields of the Secret (see EnsureSecret), from the spec; fixed fields also use the namespace
    action           the action that creates the account, or with absent=True the one that deletes it
    claims           raw spec → names of resources that only one object may have, as texts
    uses             raw spec → names of resources that several objects may share, as texts
    kept             the action without resources that the specs of other objects need
    generated        spec → fields of the Secret with random values
    revision         changes when a new version of the action does more, so that existing accounts are applied again
    """

    name: str
    kind: Kind
    instance_kind: Kind
    spec: type[CamelModel]
    fixed: Callable[[Any, str], Mapping[str, str]]
    templates: Callable[[Any], Mapping[str, str]]
    action: Callable[[Any, str, bool], EnsureAccount]
    claims: Callable[[Raw], Iterable[str]]
    uses: Callable[[Raw], Iterable[str]] = lambda spec: ()
    kept: Callable[[Any, Iterable[Raw]], EnsureAccount] = lambda action, others: action
    generated: Callable[[Any], tuple[str, ...]] = lambda spec: ("password",)
    revision: tuple[str, ...] = ()


def secret_of(obj: Object) -> str:
    return str(obj["spec"]["secretName"])


def valid_spec(contract: Contract, obj: Object) -> Any:
    """The parsed spec. Raises ValidationError.

    Grants are ignored for an object in deletion: grants that an earlier version accepted must not block the deletion.
    """
    spec = obj["spec"]
    if is_deleting(obj) and isinstance(spec, Mapping):
        spec = {name: value for name, value in spec.items() if name != "grants"}
    return contract.spec.model_validate(spec)


def uid(obj: Object | None) -> str:
    return str(((obj or {}).get("metadata") or {}).get("uid") or "")


def serving_since(provider: Object | None) -> str:
    """Start of the provider's current serving period.

    A provider that lost its data was unavailable in between, or at least not Ready: a Keystone whose database was lost
    still responds.
    """
    entries = [find(provider, type_) or {} for type_ in (SERVING, READY)]
    return max(str(entry.get("lastTransitionTime") or "") for entry in entries)


def fulfilled(contract: Contract, obj: Object, secret: Object | None, instance: Object | None) -> str:
    """Digest of the desired account, to be compared with that of the created account in the status."""
    return digest(obj["spec"], uid(secret) or None, uid(instance) or None, *contract.revision)


def claims(contract: Contract, obj: Object) -> set[str]:
    """The account of an object and the Secret that it writes; each belongs to one object only."""
    spec = obj.get("spec") or {}
    return {*contract.claims(spec), f"Secret {spec.get('secretName')}"}


def uses(contract: Contract, obj: Object) -> set[str]:
    """Resources that an object shares with others; the deletion of one object keeps them for the others."""
    return set(contract.uses(obj.get("spec") or {}))
