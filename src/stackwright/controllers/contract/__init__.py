"""Three of the contracts: database, messaging, identity. They share one course; each says what is its own."""

from __future__ import annotations

from functools import partial

from stackwright.api.kinds import SECRET
from stackwright.controllers.contract.database import DATABASE
from stackwright.controllers.contract.decide import decide
from stackwright.controllers.contract.identity import IDENTITY
from stackwright.controllers.contract.messaging import MESSAGING
from stackwright.controllers.contract.objects import Contract
from stackwright.controllers.contract.observe import observe
from stackwright.core.controller import Controller, Watch, all_in_namespace, by_owner


def _controller(contract: Contract) -> Controller:
    watches = (
        Watch(contract.instance_kind, all_in_namespace(contract.kind)),
        Watch(SECRET, by_owner(contract.kind.kind)),
    )
    return Controller(contract.name, "secrets", contract.kind, watches, partial(observe, contract), decide)


def controllers() -> tuple[Controller, ...]:
    return tuple(_controller(contract) for contract in (DATABASE, MESSAGING, IDENTITY))
