"""Three of the contracts: database, messaging, identity. They share one course; each says what is its own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from stackwright.api.kinds import SECRET
from stackwright.controllers.contract.database import DATABASE
from stackwright.controllers.contract.decide import decide
from stackwright.controllers.contract.identity import IDENTITY
from stackwright.controllers.contract.messaging import MESSAGING
from stackwright.controllers.contract.objects import Contract, claims, order
from stackwright.controllers.contract.observe import observe
from stackwright.core.controller import Controller, Keys, Lookup, Watch, all_in_namespace, by_owner
from stackwright.core.objects import key_of
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Accounts


def _same_account(contract: Contract) -> Keys:
    """Objects that wait for the account of the changed one: when that is deleted, the next has it."""

    def keys(obj: Object, lookup: Lookup) -> Iterable[Key]:
        changed = claims(contract, obj)
        others = lookup(contract.kind, obj["metadata"].get("namespace", ""))
        return [key_of(each) for each in others if order(each) > order(obj) and changed & claims(contract, each)]

    return keys


def _controller(contract: Contract, accounts: Accounts) -> Controller:
    watches = (
        Watch(contract.kind, _same_account(contract)),
        Watch(contract.instance_kind, all_in_namespace(contract.kind)),
        Watch(SECRET, by_owner(contract.kind.kind)),
    )
    look = partial(observe, contract, accounts)
    return Controller(contract.name, "secrets", contract.kind, watches, look, decide, pausable=True)


def controllers(accounts: Accounts) -> tuple[Controller, ...]:
    return tuple(_controller(contract, accounts) for contract in (DATABASE, MESSAGING, IDENTITY))
