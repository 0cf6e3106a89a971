"""What is particular to a contract kind: its Secret and the action that fulfils it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api.meta import CamelModel, Kind
from stackwright.core.conditions import READY, SERVING, find
from stackwright.core.digest import digest
from stackwright.core.objects import is_deleting
from stackwright.core.plan import Account, Object

Raw = Mapping[str, Any]


@dataclass(frozen=True)
class Contract:
    """fixed, templates  fields of the Secret (see EnsureSecret), from the spec, and for fixed ones the namespace
    action           what makes it true, or with absent=True what takes it away
    claims           spec as the API has it → what only one object may have, in words
    uses             spec as the API has it → what several objects may have, in words
    kept             the action without what the specs of other objects need as well
    generated        fields of the Secret that are random
    revision         another one when the action does more than before: what is there is made once more
    """

    name: str
    kind: Kind
    instance_kind: Kind
    spec: type[CamelModel]
    fixed: Callable[[Any, str], Mapping[str, str]]
    templates: Callable[[Any], Mapping[str, str]]
    action: Callable[[Any, str, bool], Account]
    claims: Callable[[Raw], Iterable[str]]
    uses: Callable[[Raw], Iterable[str]] = lambda spec: ()
    kept: Callable[[Any, Iterable[Raw]], Account] = lambda action, others: action
    generated: tuple[str, ...] = ("password",)
    revision: tuple[str, ...] = ()


def secret_of(obj: Object) -> str:
    return str(obj["spec"]["secretName"])


def valid_spec(contract: Contract, obj: Object) -> Any:
    """What its model reads. Raises ValidationError.

    Of an object that goes, grants are left out: those that an earlier version accepted must not keep its account.
    """
    spec = obj["spec"]
    if is_deleting(obj) and isinstance(spec, Mapping):
        spec = {name: value for name, value in spec.items() if name != "grants"}
    return contract.spec.model_validate(spec)


def uid(obj: Object | None) -> str:
    return str(((obj or {}).get("metadata") or {}).get("uid") or "")


def serving_since(provider: Object | None) -> str:
    """Since when it has served as it does. One that lost its data was away meanwhile, or at least not whole: a Keystone
    whose database was lost answers all the time.
    """
    entries = [find(provider, type_) or {} for type_ in (SERVING, READY)]
    return max(str(entry.get("lastTransitionTime") or "") for entry in entries)


def fulfilled(contract: Contract, obj: Object, secret: Object | None, instance: Object | None) -> str:
    """Digest of the account as it should be; of what was made, the status has it."""
    return digest(obj["spec"], uid(secret) or None, uid(instance) or None, *contract.revision)


def order(obj: Object) -> tuple[str, str]:
    """Of objects that claim the same account: the oldest has it."""
    return str(obj["metadata"].get("creationTimestamp") or ""), str(obj["metadata"]["name"])


def claims(contract: Contract, obj: Object) -> set[str]:
    """Which account an object is for, and the Secret that it writes: each belongs to one object only."""
    spec = obj.get("spec") or {}
    return {*contract.claims(spec), f"Secret {spec.get('secretName')}"}


def uses(contract: Contract, obj: Object) -> set[str]:
    """What an object shares with others: whoever leaves does not take it away from them."""
    return set(contract.uses(obj.get("spec") or {}))
