"""The database, messaging and identity contracts: one shared controller, and a declaration for each kind."""

from __future__ import annotations

from functools import partial

from stackwright.api.kinds import SECRET
from stackwright.controllers.claimants import Claimants
from stackwright.controllers.contract.database import DATABASE
from stackwright.controllers.contract.decide import decide
from stackwright.controllers.contract.identity import IDENTITY
from stackwright.controllers.contract.messaging import MESSAGING
from stackwright.controllers.contract.objects import Contract, claims, uses
from stackwright.controllers.contract.observe import observe
from stackwright.core.controller import ByOwner, Controller, Watch, all_in_namespace
from stackwright.core.pausing import STACKWRIGHT
from stackwright.core.ports import Accounts

CONTRACTS = (DATABASE, MESSAGING, IDENTITY)


def _controller(contract: Contract, accounts: Accounts) -> Controller:
    claimants = Claimants(contract.kind, partial(claims, contract), partial(uses, contract))
    watches = (
        Watch(contract.kind, claimants.waiting),
        Watch(contract.instance_kind, all_in_namespace(contract.kind)),
        Watch(SECRET, ByOwner(contract.kind.kind)),
    )
    look = partial(observe, contract, accounts, claimants)
    return Controller(contract.name, "secrets", contract.kind, watches, look, decide, pause=STACKWRIGHT)


def controllers(accounts: Accounts) -> tuple[Controller, ...]:
    return tuple(_controller(contract, accounts) for contract in CONTRACTS)
