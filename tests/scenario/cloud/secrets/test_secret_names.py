"""Users who may create contracts choose names of Secrets, but cannot get a Secret of another object."""

from __future__ import annotations

import copy

import pytest

from stackwright.api.kinds import SECRET
from stackwright.api.services.contracts import DatabaseAccount
from tests.scenario.world import NAMESPACE, World, ready_world

pytestmark = pytest.mark.looptime
EVIL = (NAMESPACE, "evil")


def account(world: World, secret: str) -> None:
    spec = {"instance": "mariadb", "database": "evil", "username": "evil", "secretName": secret}
    meta = {"namespace": NAMESPACE, "name": EVIL[1]}
    body = {"apiVersion": DatabaseAccount.KIND.api_version, "kind": DatabaseAccount.KIND.kind}
    world.cluster.put(DatabaseAccount.KIND, {**body, "metadata": meta, "spec": spec})


async def test_an_account_with_the_administrators_secret_is_blocked_and_deletes_nothing() -> None:
    world = await ready_world()
    before = copy.deepcopy(world.get(SECRET, "keystone-admin"))
    account(world, "keystone-admin")
    await world.run(60)
    status, reason, message = world.condition(obj=world.get(DatabaseAccount.KIND, EVIL[1]))
    assert (status, reason) == ("False", "BlockedRefused")
    assert message == f"Secret {NAMESPACE}/keystone-admin belongs to keystone.keystone; choose another name"
    assert world.get(SECRET, "keystone-admin") == before
    assert "evil" not in str(world.accounts.database.users)
    world.delete(DatabaseAccount.KIND, EVIL[1])
    await world.run(60)
    assert world.get(SECRET, "keystone-admin") == before
    assert world.ready()
    await world.stop()


async def test_an_account_adopts_the_secret_with_its_password_of_a_user() -> None:
    world = await ready_world()
    world.secret("mine", password="chosen")
    account(world, "mine")
    await world.run(60)
    assert world.condition(obj=world.get(DatabaseAccount.KIND, EVIL[1]))[0] == "True"
    assert "chosen" in str(world.accounts.database.users)
    await world.stop()
