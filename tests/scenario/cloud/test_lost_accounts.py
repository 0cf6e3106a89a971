"""A provider that lost its data has lost all accounts; without them the services stay down permanently."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from stackwright.api.kinds import JOB, SECRET, STATEFULSET
from stackwright.api.services.contracts import DatabaseAccount
from stackwright.controllers.contract import CONTRACTS
from stackwright.core.errors import TerminalError, TransientError
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.values import LOSSES
from support.faults import Crash
from tests.scenario.world import NAMESPACE, UNREADY, World, ready_world

pytestmark = pytest.mark.looptime
PROVIDERS = {contract.name: contract.kind for contract in CONTRACTS}
each_provider = pytest.mark.parametrize("provider", PROVIDERS)


def accounts(world: World, provider: str) -> dict[Any, str]:
    return getattr(world.accounts, provider).users


def lose(world: World, provider: str) -> dict[Any, str]:
    before = dict(accounts(world, provider))
    assert before
    accounts(world, provider).clear()
    return before


@each_provider
async def test_lost_accounts_are_recreated_on_a_schedule(provider: str) -> None:
    """No event reports the loss: the pods run, and the objects are Ready."""
    world = await ready_world(whole=True)
    before = lose(world, provider)
    await world.run(600)
    assert accounts(world, provider) == before
    assert world.ready()
    await world.stop()


@each_provider
async def test_a_password_that_was_changed_at_the_provider_is_set_again(provider: str) -> None:
    """Services cannot log in, although all accounts exist."""
    world = await ready_world(whole=True)
    before = dict(accounts(world, provider))
    accounts(world, provider).update(dict.fromkeys(before, "of somebody else"))
    await world.run(600)
    assert accounts(world, provider) == before
    assert world.ready()
    await world.stop()


def counted(world: World, provider: str) -> list[Any]:
    """Record the queries to a provider from now on."""
    port, asked = getattr(world.accounts, provider), []
    works = port.missing

    async def missing(action: Any, *more: Any) -> Any:
        asked.append(action.secret)
        return await works(action, *more)

    port.missing = missing
    return asked


@each_provider
async def test_a_start_of_the_operator_checks_few_accounts_and_keeps_the_schedule(provider: str) -> None:
    world = await ready_world(whole=True)
    await world.stop()
    asked, writes = counted(world, provider), len(world.cluster.writes)
    await world.run(60)
    assert len(asked) <= len(accounts(world, provider)) / 2
    assert len(world.cluster.writes) == writes
    before = lose(world, provider)
    await world.run(540)
    assert len(set(asked)) == len(before)
    assert accounts(world, provider) == before
    await world.stop()


@each_provider
async def test_an_operator_that_never_lives_for_long_notices_a_loss(provider: str) -> None:
    world = await ready_world(whole=True)
    await world.stop()
    before = lose(world, provider)
    for _ in range(60):
        world = world.again()
        await world.run(30)
        await world.stop()
        if accounts(world, provider).keys() == before.keys():
            return
    pytest.fail(f"{len(accounts(world, provider))} of {len(before)} are there again")


@each_provider
async def test_a_provider_that_refuses_its_administrator_has_not_shown_the_account(provider: str) -> None:
    world = await ready_world(whole=True)
    await world.stop()
    kind = PROVIDERS[provider]
    port = getattr(world.accounts, provider)

    async def refuses(*_: Any) -> Any:
        raise TerminalError("no access")

    port.missing = refuses
    old = "2020-01-01T00:00:00Z"
    for obj in world.cluster.all(kind):
        made = copy.deepcopy(obj)
        made["status"]["providerSince"] = old
        world.cluster.put(kind, made)
    await world.run(600)
    assert {obj["status"]["providerSince"] for obj in world.cluster.all(kind)} == {old}
    await world.stop()


@each_provider
async def test_a_restarted_provider_is_checked_at_the_start(provider: str) -> None:
    """The operator was killed after it had observed the provider's start, and before it had checked the accounts."""
    world = await ready_world(whole=True)
    await world.stop()
    before = lose(world, provider)
    kind = PROVIDERS[provider]
    for obj in world.cluster.all(kind):
        made = copy.deepcopy(obj)
        made["status"]["providerSince"] = "2020-01-01T00:00:00Z"
        world.cluster.put(kind, made)
    await world.run(60)
    assert accounts(world, provider) == before
    await world.stop()


@each_provider
async def test_a_provider_that_responds_only_after_it_is_ready_is_checked_again_soon(provider: str) -> None:
    """It restarts with or without its data. Without a prompt retry, the next check would be that of a cloud at rest."""
    world = await ready_world(whole=True)
    await world.stop()
    before, kind = lose(world, provider), PROVIDERS[provider]
    for obj in world.cluster.all(kind):
        made = copy.deepcopy(obj)
        made["status"]["providerSince"] = "2020-01-01T00:00:00Z"
        world.cluster.put(kind, made)
    port = getattr(world.accounts, provider)
    works = port.missing

    async def restarting(*_: Any) -> str:
        raise TransientError("restarting")

    port.missing = restarting
    await world.run(20)
    assert accounts(world, provider) == {}
    port.missing = works
    await world.run(90)
    assert accounts(world, provider) == before
    assert "2020-01-01T00:00:00Z" not in {obj["status"]["providerSince"] for obj in world.cluster.all(kind)}
    await world.stop()


@each_provider
async def test_a_loss_is_reported_even_if_the_account_cannot_be_recreated(provider: str) -> None:
    world = await ready_world(whole=True)
    kind = PROVIDERS[provider]
    lose(world, provider)
    port = getattr(world.accounts, provider)

    async def fails(*_: Any) -> None:
        raise TransientError("it is read-only")

    works, found = port.account, None
    port.account = fails
    await world.run(600)
    for obj in world.cluster.all(kind):
        status, _, message = world.condition(obj=obj)
        found = (status, message)
        assert found == ("False", "it is read-only")
    assert found and not world.ready()
    port.account = works
    await world.run(600)
    assert world.ready()
    await world.stop()


async def test_an_unresponsive_provider_has_lost_nothing() -> None:
    world = await ready_world(whole=True)
    calls = len(world.accounts.database.calls)
    for obj in world.cluster.all(DatabaseAccount.KIND):
        host = f"{obj['spec']['instance']}.{obj['metadata']['namespace']}.svc"
        world.accounts.database.fail[host] = TransientError("restarting")
    await world.run(900)
    assert len(world.accounts.database.calls) == calls
    await world.stop()


async def test_checks_write_nothing_while_nothing_is_missing() -> None:
    world = await ready_world(whole=True)
    writes = len(world.cluster.writes)
    await world.run(3600)
    assert len(world.cluster.writes) == writes
    await world.stop()


def given(world: World, bundle: str) -> dict[str, str]:
    """Release → the digest of losses in its pods."""
    releases = world.bundle(bundle)["spec"]["releases"]
    told = {each["name"]: each["values"].get("pod", {}).get("annotations", {}) for each in releases}
    return {name: annotations.get("default", {}).get(LOSSES, "") for name, annotations in told.items()}


def losses(world: World) -> dict[str, int]:
    return {obj["metadata"]["name"]: obj["status"]["losses"] for obj in world.cluster.all(DatabaseAccount.KIND)}


def databases_lost(world: World) -> None:
    world.accounts.database.users.clear()
    world.accounts.database.databases.clear()


async def test_a_lost_database_is_filled_again_and_its_users_restart() -> None:
    """The accounts are recreated, but the database is empty: db-sync and bootstrap run, and agents register again."""
    world = await ready_world(whole=True)
    jobs = {job["metadata"]["name"] for job in world.cluster.all(JOB)}
    assert len(jobs) >= 4
    assert set(losses(world).values()) == {0}
    databases_lost(world)
    await world.run(900)
    assert world.ready()
    assert set(losses(world).values()) == {1}
    after = {job["metadata"]["name"] for job in world.cluster.all(JOB)}
    assert not after & jobs and len(after) == len(jobs), "each Job ran anew"
    assert given(world, "keystone") == {"openstack-keystone": "1", "openstack-keystoneclient": ""}
    assert given(world, "nova")["openstack-nova"] == "2", "of its two databases"
    networking = given(world, "neutron")
    assert networking.pop("openstack-neutron") == "1"
    assert networking and not any(networking.values()), "what has no database goes on as it is"
    assert given(world, "mariadb") == {"openstack-mariadb": ""}
    upgrades = len(world.helm.calls)
    await world.run(3600)
    assert len(world.helm.calls) == upgrades
    await world.stop()


async def test_a_new_password_is_no_loss() -> None:
    world = await ready_world()
    upgrades = len(world.helm.calls)
    world.delete(SECRET, "keystone-database")
    await world.run(600)
    assert world.ready()
    assert losses(world) == {"keystone": 0}
    assert len(world.helm.calls) == upgrades
    await world.stop()


def by_another_version(world: World, obj: Any) -> None:
    obj["status"]["digest"] = "of-another-version"
    world.cluster.put(DatabaseAccount.KIND, obj)


def with_other_rights(world: World, obj: Any) -> None:
    obj["spec"]["grants"] = ["SELECT"]
    world.cluster.put(DatabaseAccount.KIND, obj)


def with_a_new_password(world: World, obj: Any) -> None:
    world.delete(SECRET, obj["spec"]["secretName"])


CHANGES = [by_another_version, with_other_rights, with_a_new_password]


@pytest.mark.parametrize("lost", [True, False])
@pytest.mark.parametrize("change", CHANGES)
async def test_a_loss_counts_even_if_the_account_changes_at_that_time(change: Any, lost: bool) -> None:
    """For example, an upgraded operator finds a cloud that has lost its data: it would fill no database."""
    world = await ready_world()
    jobs = {job["metadata"]["name"] for job in world.cluster.all(JOB)}
    await world.stop()
    for made in world.cluster.all(DatabaseAccount.KIND):
        change(world, copy.deepcopy(made))
    if lost:
        databases_lost(world)
    await world.run(600)
    assert world.ready()
    assert losses(world) == {"keystone": int(lost)}
    assert {job["metadata"]["name"] for job in world.cluster.all(JOB)}.isdisjoint(jobs) is lost
    await world.stop()


async def test_a_changed_account_is_not_recreated_before_its_loss_is_checked() -> None:
    """Otherwise a provider that fails at that moment would hide the loss."""
    world = await ready_world()
    await world.stop()
    for made in world.cluster.all(DatabaseAccount.KIND):
        by_another_version(world, copy.deepcopy(made))
    databases_lost(world)
    works = world.accounts.database.missing

    async def nobody_can_tell(*_: Any) -> str:
        raise TransientError("Galera is not ready")

    world.accounts.database.missing = nobody_can_tell  # type: ignore[method-assign]
    await world.run(300)
    assert not world.accounts.database.users
    (obj,) = world.cluster.all(DatabaseAccount.KIND)
    assert world.condition(obj=obj) == (
        "False",
        "Waiting",
        "Waiting for MariaDB openstack/mariadb: Galera is not ready",
    )
    world.accounts.database.missing = works  # type: ignore[method-assign]
    await world.run(300)
    assert world.ready()
    assert losses(world) == {"keystone": 1}
    await world.stop()


async def test_another_provider_of_the_same_name_has_no_accounts_of_the_former() -> None:
    world = await ready_world()
    mariadb = copy.deepcopy(world.get(MariaDB.KIND, "mariadb"))
    databases_lost(world)
    for made in world.cluster.all(DatabaseAccount.KIND):  # as if an earlier version had created the object
        made = copy.deepcopy(made)
        assert made["status"]["providerUid"] == mariadb["metadata"]["uid"]
        made["status"] |= {"providerUid": "another", "digest": "of-another"}
        world.cluster.put(DatabaseAccount.KIND, made)
    await world.run(600)
    assert world.ready()
    assert losses(world) == {"keystone": 1}
    await world.stop()


@each_provider
async def test_an_account_that_stays_missing_is_not_recreated_without_end(provider: str) -> None:
    """A provider may accept an account without storing it, or a proxy may hide it."""
    world = await ready_world(whole=True)
    port = getattr(world.accounts, provider)

    async def nothing_is_there(action: Any, *_: Any) -> str:
        return f"user {action.spec['username'] if provider == 'identity' else action.username}"

    works, port.missing = port.missing, nothing_is_there
    await world.run(400)
    kind = PROVIDERS[provider]
    objects = world.cluster.all(kind)
    assert objects
    before = len(port.calls)
    await world.run(3600)
    assert len(port.calls) - before <= 70 * len(objects), "as often as anything else that fails: once a minute"
    for obj in world.cluster.all(kind):
        status, reason, message = world.condition(obj=obj)
        assert (status, reason) == ("False", "AccountMissing")
        assert "is missing although it was created before" in message
        assert obj["status"]["losses"] == 1
    assert not world.ready()
    port.missing = works
    await world.run(900)
    assert world.ready()
    await world.stop()


async def test_an_unrecorded_account_is_deleted_too() -> None:
    """The operator is killed just after the creation; then the object is deleted while the provider is down."""
    world = await ready_world()
    works = world.accounts.database.account

    async def made_and_killed(*given: Any) -> None:
        await works(*given)
        raise Crash

    world.accounts.database.account = made_and_killed  # type: ignore[method-assign]
    spec = {"database": "mine", "username": "mine", "secretName": "mine"}
    defaults = DatabaseAccount.model_validate({"metadata": {"name": "mine"}, "spec": spec}).model_dump(by_alias=True)
    meta = {"name": "mine", "namespace": NAMESPACE}
    world.cluster.put(DatabaseAccount.KIND, {"metadata": meta, "spec": defaults["spec"]})
    with pytest.raises(Crash):
        await world.run(60)
    await world.stop()
    world.accounts.database.account = works  # type: ignore[method-assign]
    world.accounts.database.fail["mariadb.openstack.svc"] = TransientError("it is shutting down")
    world.kubelet.broken["mariadb"] = UNREADY
    world.kubelet.sync(STATEFULSET, "mariadb-server")
    await world.run(60)
    world.accounts.database.fail.clear()
    await world.cluster.delete(DatabaseAccount.KIND, (NAMESPACE, "mine"))
    await world.run(120)
    waits = world.get(DatabaseAccount.KIND, "mine")
    assert waits and world.condition(obj=waits)[1] == "Deleting"
    world.kubelet.broken.clear()
    world.kubelet.sync(STATEFULSET, "mariadb-server")
    await world.run(120)
    assert world.get(DatabaseAccount.KIND, "mine") is None
    assert "mine" not in {user for _, user in world.accounts.database.users}
    await world.stop()
