"""A provider that lost its data has lost all accounts; without them the services stay down for good."""

from __future__ import annotations

from typing import Any

import pytest
from world import World, ready_world

from stackwright.api.contracts import DatabaseAccount, KeystoneService, MessagingAccount
from stackwright.core.ports import NotYet

pytestmark = pytest.mark.looptime
PROVIDERS = {
    "sql": (DatabaseAccount.KIND, "users"),
    "broker": (MessagingAccount.KIND, "users"),
    "identity": (KeystoneService.KIND, "users"),
}
each_provider = pytest.mark.parametrize("provider", PROVIDERS)


def accounts(world: World, provider: str) -> dict[Any, str]:
    return getattr(world, provider).users


def lose(world: World, provider: str) -> dict[Any, str]:
    before = dict(accounts(world, provider))
    assert before
    accounts(world, provider).clear()
    return before


@each_provider
async def test_lost_accounts_are_made_again_on_a_schedule(provider: str) -> None:
    """Nothing tells of the loss: the pods run, and the objects say Ready."""
    world = await ready_world(whole=True)
    before = lose(world, provider)
    await world.run(600)
    assert accounts(world, provider) == before
    assert world.ready()
    await world.stop()


@each_provider
async def test_a_loss_is_reported_even_if_the_account_cannot_be_made_again(provider: str) -> None:
    world = await ready_world(whole=True)
    kind, _ = PROVIDERS[provider]
    lose(world, provider)
    port, call = getattr(world, provider), "entry" if provider == "identity" else "account"

    async def fails(*_: Any) -> None:
        raise NotYet("it is read-only")

    works, found = getattr(port, call), None
    setattr(port, call, fails)
    await world.run(600)
    for obj in world.cluster.all(kind):
        status, _, message = world.condition(obj=obj)
        found = (status, message)
        assert found == ("False", "it is read-only")
    assert found and not world.ready()
    setattr(port, call, works)
    await world.run(600)
    assert world.ready()
    await world.stop()


async def test_a_provider_that_does_not_answer_has_lost_nothing() -> None:
    world = await ready_world(whole=True)
    calls = len(world.sql.calls)
    for obj in world.cluster.all(DatabaseAccount.KIND):
        world.sql.fail[f"{obj['spec']['instance']}.{obj['metadata']['namespace']}.svc"] = NotYet("restarting")
    await world.run(900)
    assert len(world.sql.calls) == calls
    await world.stop()


async def test_checks_write_nothing_while_nothing_is_missing() -> None:
    world = await ready_world(whole=True)
    writes = len(world.cluster.writes)
    await world.run(3600)
    assert len(world.cluster.writes) == writes
    await world.stop()
