"""What a contract controller sees: the contract, who shall fulfil it, and the Secret that was made."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from stackwright.api.kinds import SECRET
from stackwright.controllers.contract.objects import Contract, secret_of
from stackwright.core.objects import key_of
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader


@dataclass(frozen=True)
class Observed:
    """others  further contracts of this kind in the namespace"""

    contract: Contract
    obj: Object
    instance: Object | None
    secret: Object | None
    others: tuple[Object, ...] = ()


async def observe(contract: Contract, reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(contract.kind, key)
    if obj is None:
        return None
    try:
        contract.spec.model_validate(obj["spec"])
    except ValidationError:
        return Observed(contract, obj, None, None)  # decide reports the errors; such names must not be looked up
    instance = await reader.get(contract.instance_kind, (key[0], str(obj["spec"]["instance"])))
    secret = await reader.get(SECRET, (key[0], secret_of(obj)))
    others = tuple(each for each in await reader.list(contract.kind, key[0]) if key_of(each) != key)
    return Observed(contract, obj, instance, secret, others)
