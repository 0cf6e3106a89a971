"""Checks of accounts at a provider that is ready but does not respond."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterable
from typing import Any

import pytest

from stackwright.api.kinds import SECRET
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.plan.accounts import EnsureDatabaseAccount, EnsureIdentityAccount, EnsureMessagingAccount
from stackwright.core.ports import CHECK_SECONDS
from stackwright.runtime import accounts
from stackwright.runtime.accounts import CONFIRM, FEW, KEPT, QUIET, SHARES, AccountChecks
from stackwright.runtime.memory import FrozenClock, MemoryAccounts, MemoryCluster, MemoryDatabase
from support.ports import memory_ports

pytestmark = pytest.mark.looptime
ADMIN = ("n", "root")


class Database(MemoryDatabase):
    """Hangs, fails or responds. `asked` has the user of each query, and whether it had a password."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, bool]] = []
        self.error: Exception | None = None
        self.hangs = True
        self.lost = ""
        self.lies = 0  # number of responses that lack an existing account

    async def missing(self, action: Any, admin: Any, password: Any) -> str:
        self.asked.append((action.username, password is not None))
        if self.hangs:
            await asyncio.sleep(3600)
        if self.error:
            raise self.error
        if self.lies:
            self.lies -= 1
            return "user"
        return self.lost


def b64(text: bytes) -> str:
    return base64.b64encode(text).decode()


def account(name: str) -> EnsureDatabaseAccount:
    return ensure("db.n.svc", name)


def ensure(host: str, name: str, admin: tuple[str, str] = ADMIN) -> EnsureDatabaseAccount:
    return EnsureDatabaseAccount(
        host=host, admin_secret=admin, database=name, username=name, grants=("ALL PRIVILEGES",), secret=("n", name)
    )


def checks(database: Database, now: float = 1000.0, names: Iterable[str] = "abcdefgh") -> AccountChecks:
    clock = FrozenClock(now)
    cluster = MemoryCluster(clock=clock)
    for name in ("root", *names):
        data = {"password": base64.b64encode(b"p").decode()}
        cluster.put(SECRET, {"metadata": {"namespace": "n", "name": name}, "data": data})
    return AccountChecks(memory_ports(cluster, clock, providers={EnsureDatabaseAccount: database}))


async def looks(made: AccountChecks, provider: str = "p") -> int:
    """All accounts at once, as by an event of their provider; how many got no answer."""
    found = await asyncio.gather(
        *(made.missing(account(name), provider) for name in "abcdefgh"), return_exceptions=True
    )
    silent = [each for each in found if isinstance(each, TransientError)]
    assert all(each == "" for each in found if each not in silent)
    return len(silent)


async def test_a_hanging_provider_occupies_each_worker_once_and_later_one_at_a_time() -> None:
    database, now = Database(), asyncio.get_running_loop().time
    made, start = checks(database), now()
    assert await looks(made) == 8
    assert now() - start == pytest.approx(CHECK_SECONDS)
    for _ in range(20):
        assert await looks(made) == 8
    assert now() - start == pytest.approx(CHECK_SECONDS), "nobody waits for it again"
    assert len(database.asked) == 8
    await asyncio.sleep(QUIET)
    assert await looks(made) == 8
    assert len(database.asked) == 9, "one look asks for all"
    database.hangs = False
    await asyncio.sleep(QUIET)
    assert await looks(made) == 0
    assert len(database.asked) == 9 + 8


async def test_a_new_or_restarted_provider_is_checked_at_once() -> None:
    database = Database()
    made = checks(database)
    await looks(made)
    database.hangs = False
    assert await looks(made, "p since later") == 0
    assert len(database.asked) == 16


async def test_a_failed_check_is_reported_with_its_cause_unless_creation_reports_it() -> None:
    database = Database()
    database.hangs, database.error = False, TransientError("Galera is not ready")
    made = checks(database)
    for _ in range(2):
        with pytest.raises(TransientError, match="Galera"):
            await made.missing(account("a"), "p")
    assert len(database.asked) == 1
    database.error = TerminalError("no access")
    assert await made.missing(account("a"), "another") is None, "nobody has seen it"


async def test_a_changed_account_is_checked_by_name_only() -> None:
    database = Database()
    database.hangs = False
    made = checks(database)
    assert await made.missing(account("a"), "p", changed=True) == ""
    assert await made.missing(account("a"), "p") == ""
    assert database.asked == [("a", False), ("a", True)], "an answer of the one kind is none of the other"


async def test_an_observation_of_an_earlier_process_counts_as_a_response_of_the_start() -> None:
    """Otherwise a restart with 5,000 accounts would send 5,000 queries at once."""
    database = Database()
    database.hangs = False
    made = checks(database)
    for name in "abcdefgh":
        assert await made.missing(account(name), "p", before=True) == ""
    early = len(database.asked)
    assert early < 4, "some are asked at each start"
    assert await made.missing(account("h"), "p2", before=False) == ""
    assert database.asked[early:] == [("h", True)], "of this one nobody knows"
    await asyncio.sleep(KEPT)
    for name in "abcdefg":
        assert await made.missing(account(name), "p", before=True) == ""
    assert len(database.asked) == early + 8


async def test_each_start_checks_some_accounts_so_that_all_are_checked_in_time() -> None:
    """An operator that never lives for long would notice no loss."""
    database, starts = Database(), 200
    database.hangs = False
    for start in range(starts):
        made = checks(database, 1000.0 + 230 * start)
        for name in "abcdefgh":
            await made.missing(account(name), "p", before=True)
    counts = [database.asked.count((name, True)) for name in "abcdefgh"]
    assert all(starts / SHARES / 3 < count < starts / SHARES * 3 for count in counts), counts


async def test_a_start_checks_only_a_few_accounts_per_provider() -> None:
    names = [f"a{index}" for index in range(20 * SHARES)]
    database = Database()
    database.hangs = False
    made = checks(database, names=names)
    for provider in ("p", "another"):
        database.asked.clear()
        for _ in range(2):
            for name in names:
                assert await made.missing(account(name), provider, before=True) == ""
        assert 1 <= len(database.asked) <= FEW


async def test_checks_of_one_account_do_not_use_up_the_budget_of_a_start() -> None:
    names = [f"a{index}" for index in range(20 * SHARES)]
    database = Database()
    database.hangs = False
    made = checks(database, names=names)
    for name in names:
        for _ in range(FEW):
            assert await made.missing(account(name), "p", before=True) == ""
    assert len(database.asked) == FEW


async def test_accounts_that_cannot_be_checked_cost_a_start_no_more_than_others() -> None:
    names = [f"a{index}" for index in range(20 * SHARES)]
    made = checks(Database(), names=names)
    reads: list[Any] = []
    cluster = made._ports.cluster
    get = cluster.get

    async def counted(kind: Any, key: Any) -> Any:
        reads.append(key)
        return None if key == ADMIN else await get(kind, key)

    cluster.get = counted  # type: ignore[method-assign]
    for name in names:
        await made.missing(account(name), "p", before=True)
    assert 1 <= len(reads) <= 2 * FEW


async def test_one_response_that_lacks_an_account_is_not_a_loss() -> None:
    database = Database()
    database.hangs, database.lies = False, 1
    made, start = checks(database), asyncio.get_running_loop().time()
    assert await made.missing(account("a"), "p") == ""
    assert len(database.asked) == 2 and asyncio.get_running_loop().time() - start >= CONFIRM
    database.lies = 2
    assert await made.missing(account("b"), "p") == "user"


async def test_a_loss_is_unproven_while_the_second_query_fails() -> None:
    database = Database()
    database.hangs, database.lost = False, "user"
    made = checks(database)
    look = asyncio.create_task(made.missing(account("a"), "p"))
    await asyncio.sleep(CONFIRM / 2)
    database.error = TransientError("Galera is not ready")
    with pytest.raises(TransientError, match="Galera"):
        await look


async def test_after_a_loss_all_accounts_are_checked() -> None:
    database = Database()
    database.hangs, database.lost = False, "user"
    made = checks(database)
    assert await made.missing(account("a"), "p") == "user"
    database.asked.clear()
    for name in "abcdefgh":
        assert await made.missing(account(name), "p", before=True) == "user"
    assert len(database.asked) == 2 * 8


async def test_an_account_that_cannot_be_checked_counts_as_unchecked() -> None:
    database = Database()
    database.hangs = False
    made = checks(database)
    assert await made.missing(account("nobody"), "p") is None
    assert database.asked == []


@pytest.mark.parametrize("changed", [False, True])
async def test_a_check_uses_the_password_of_the_account_unless_it_changes(
    changed: bool,
) -> None:
    """A provider that came back from an old backup may have the user, with the password of then."""
    cluster, clock = MemoryCluster(), FrozenClock(1000.0)
    for name, password in (("root", b"admin"), ("a", b"new")):
        cluster.put(SECRET, {"metadata": {"namespace": "n", "name": name}, "data": {"password": b64(password)}})
    at = MemoryAccounts()
    at.database.users["host", "a"] = at.identity.users["a"] = "old"
    made = AccountChecks(memory_ports(cluster, clock, providers=at.providers))
    spec = {"serviceName": "s", "serviceType": "t", "username": "a", "endpoints": {}}
    secrets: dict[str, Any] = {"admin_secret": ADMIN, "secret": ("n", "a")}
    in_database, in_identity = ensure("host", "a"), EnsureIdentityAccount(spec=spec, **secrets)
    in_messaging = EnsureMessagingAccount(host="host", vhost="v", username="a", **secrets)
    old = "" if changed else "user a"
    assert [await made.missing(each, "p", changed) for each in (in_database, in_identity)] == [old, old]
    assert await made.missing(in_messaging, "p", changed) == "user a"
    at.database.users["host", "a"] = at.identity.users["a"] = at.messaging.users["host", "a"] = "new"
    assert [await made.missing(each, "p", changed) for each in (in_database, in_identity, in_messaging)] == [""] * 3


async def test_without_the_administrators_password_no_check_runs() -> None:
    database = Database()
    database.hangs = False
    made = checks(database)
    nobody = ensure("db.n.svc", "a", admin=("n", "gone"))
    assert await made.missing(nobody, "p") is None
    assert database.asked == []


@pytest.mark.parametrize("name", ["root", "a"])
async def test_with_a_password_that_is_no_text_no_check_runs(name: str) -> None:
    database = Database()
    database.hangs = False
    made = checks(database)
    cluster: Any = made._ports.cluster
    cluster.put(SECRET, {"metadata": {"namespace": "n", "name": name}, "data": {"password": b64(b"\xff")}})
    assert await made.missing(account("a"), "p") is None
    assert database.asked == []


async def test_old_responses_are_dropped_without_a_scan_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 5,000 accounts a look at all answers for each question would be 25 million looks."""
    looked = 0

    class Counting(accounts._Answer):
        def __getattribute__(self, name: str) -> Any:
            nonlocal looked
            looked += name == "until"
            return super().__getattribute__(name)

    monkeypatch.setattr(accounts, "_Answer", Counting)
    database, count = Database(), 300
    database.hangs = False
    made = checks(database, names=["another", *(f"a{index}" for index in range(count))])
    for provider in ("p", "again"):
        for index in range(count):
            await made.missing(account(f"a{index}"), provider)
    assert looked <= 3 * 2 * count
    await asyncio.sleep(KEPT)
    await made.missing(account("another"), "p")
    assert len(made._there) == 1
