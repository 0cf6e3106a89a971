"""Reads a contract, its provider and the Secret that was created for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import ValidationError

from stackwright.api.kinds import SECRET
from stackwright.api.meta import CamelModel
from stackwright.controllers.claimants import Claimants
from stackwright.controllers.contract.objects import Contract, fulfilled, secret_of, serving_since, uid, valid_spec
from stackwright.core.conditions import is_serving
from stackwright.core.errors import TransientError
from stackwright.core.objects import is_deleting
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Accounts, Reader


@dataclass(frozen=True)
class Observed:
    """others   contracts of this kind in the namespace that name the same account; see Claimants.others
    spec     the spec after validation
    missing  resources that were created earlier and no longer exist at the provider, as text
    silent   why the provider cannot be checked
    since    start of the provider's ready period in which it was checked; empty if it was not checked
    """

    contract: Contract
    obj: Object
    instance: Object | None
    secret: Object | None
    others: tuple[Object, ...] = ()
    spec: CamelModel | None = None
    missing: str = ""
    silent: str = ""
    since: str = ""

    def valid_spec(self) -> CamelModel:
        """Raises ValidationError."""
        return self.spec or valid_spec(self.contract, self.obj)


async def observe(
    contract: Contract, accounts: Accounts, claimants: Claimants, reader: Reader, key: Key, now: float
) -> Observed | None:
    obj = await reader.get(contract.kind, key)
    if obj is None:
        claimants.forget(key)
        return None
    try:
        spec = valid_spec(contract, obj)
    except ValidationError:
        return Observed(contract, obj, None, None)  # decide reports the errors; invalid names must not be looked up
    instance = await reader.get(contract.instance_kind, (key[0], str(obj["spec"]["instance"])))
    secret = await reader.get(SECRET, (key[0], secret_of(obj)))
    seen = Observed(contract, obj, instance, secret, await claimants.others(reader, obj), spec)
    status = obj.get("status") or {}
    made = status.get("digest")
    if is_deleting(obj) or not is_serving(instance) or not made:
        return seen
    action, changed = contract.action(spec, key[0], False), made != fulfilled(contract, obj, secret, instance)
    serves = serving_since(instance)
    before = not changed and status.get("providerSince") == serves
    try:
        missing = await accounts.missing(action, f"{uid(instance)} {serves}", changed, before)
    except TransientError as error:
        return replace(seen, silent=str(error))
    return seen if missing is None else replace(seen, missing=missing, since=serves)
