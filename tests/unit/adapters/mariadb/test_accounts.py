"""What MariaDbDatabase runs and how it speaks of errors; nothing here connects but to closed ports."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pymysql
import pytest

from stackwright.adapters.mariadb import accounts
from stackwright.adapters.mariadb.accounts import MariaDbDatabase, error_of, statements
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.plan.accounts import EnsureDatabaseAccount


def account(**changes: Any) -> EnsureDatabaseAccount:
    fields: dict[str, Any] = {
        "host": "127.0.0.1", "admin_secret": ("openstack", "mariadb-root"), "database": "keystone",
        "username": "keystone", "grants": ("ALL PRIVILEGES",), "secret": ("openstack", "keystone-db"),
    }  # fmt: skip
    return EnsureDatabaseAccount(**{**fields, **changes})


def test_an_account_is_created_by_idempotent_statements() -> None:
    texts = [text for text, _ in statements(account(database="nova-cell0"), "pa'ss")]
    assert [text.split()[0] for text in texts] == ["CREATE", "CREATE", "ALTER", "GRANT"]
    assert texts[0].startswith("CREATE DATABASE IF NOT EXISTS `nova-cell0` CHARACTER SET utf8mb3")
    assert not any("pa'ss" in text for text in texts)


def test_the_driver_quotes_bound_parameters() -> None:
    (text, bound), *_ = [s for s in statements(account(), "a'b\\") if s[0].startswith("ALTER")]
    escaped = text % tuple(pymysql.converters.escape_item(value, "utf8mb4") for value in bound)
    assert escaped == r"ALTER USER 'keystone'@'%' IDENTIFIED BY 'a\'b\\'"


def test_removal_drops_the_database_only_on_request() -> None:
    assert [t for t, _ in statements(account(absent=True), "")] == ["DROP USER IF EXISTS %s@'%%'"]
    assert len(list(statements(account(absent=True, dropped=("keystone",)), ""))) == 2


def test_additional_databases_get_the_same_rights_and_are_dropped_with_the_first() -> None:
    made = [text for text, _ in statements(account(database="nova", additional=("nova_cell0",)), "x")]
    for name in ("nova", "nova_cell0"):
        assert sum(text.startswith(f"CREATE DATABASE IF NOT EXISTS `{name}` ") for text in made) == 1
        exact = name.replace("_", r"\_")
        assert f"GRANT ALL PRIVILEGES ON `{exact}`.* TO %s@'%%'" in made
    assert sum("USER" in text for text in made) == 2, "one user for both"
    both = account(database="nova", additional=("nova_cell0",), absent=True, dropped=("nova", "nova_cell0"))
    gone = [text for text, _ in statements(both, "")]
    assert gone[-2:] == [f"DROP DATABASE IF EXISTS `{name}`" for name in ("nova", "nova_cell0")]
    with pytest.raises(TerminalError):
        list(statements(account(additional=("a`b",)), "x"))


def test_rights_are_on_this_database_and_on_no_other_that_is_like_it() -> None:
    """In GRANT, and only there, _ matches any character: nova_api would match novaXapi too."""
    texts = [text for text, _ in statements(account(database="nova_api"), "x")]
    assert texts[0].startswith("CREATE DATABASE IF NOT EXISTS `nova_api` ")
    assert texts[-1] == r"GRANT ALL PRIVILEGES ON `nova\_api`.* TO %s@'%%'"


class Connection:
    """Receives statements and returns its initial grants."""

    def __init__(self, *grants: str) -> None:
        self.grants, self.ran = grants, list[tuple[str, Any]]()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None: ...

    def cursor(self) -> Connection:
        return self

    def execute(self, text: str, bound: Any) -> None:
        self.ran.append((text, bound))

    def fetchall(self) -> list[tuple[str]]:
        assert self.ran[-1][0].startswith("SHOW GRANTS")
        return [(grant,) for grant in self.grants]

    def revoked(self) -> list[tuple[str, Any]]:
        return [statement for statement in self.ran if statement[0].startswith("REVOKE")]


GRANTS = (
    "GRANT USAGE ON *.* TO `nova`@`%` IDENTIFIED BY PASSWORD '*0123 ON `nova_api`.* TO'",
    r"GRANT ALL PRIVILEGES ON `nova\_api`.* TO `nova`@`%`",
    r"GRANT ALL PRIVILEGES ON `nova\_api\_two`.* TO `nova`@`%`",
    "GRANT SELECT ON `reports`.* TO `nova`@`%`",
    "GRANT SELECT ON `other_api`.* TO `nova`@`%`",
    "GRANT SELECT ON `nova_api`.`instances` TO `nova`@`%`",
)


async def test_rights_outside_of_the_spec_are_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Databases that it named before, and patterns of an earlier version: `nova_api` was novaXapi too."""
    before = (
        "GRANT ALL PRIVILEGES ON `nova_api`.* TO `nova`@`%`",
        r"GRANT ALL PRIVILEGES ON `nova\_api_two`.* TO `nova`@`%` WITH GRANT OPTION",
    )
    action = account(username="nova", database="nova_api", additional=("nova_api_two",))
    former = ["ALL PRIVILEGES ON `reports`", "ALL PRIVILEGES ON `other_api`"]
    passed_on = [r"GRANT OPTION ON `nova\_api_two`", r"ALL PRIVILEGES ON `nova\_api_two`"]
    empty = ("GRANT USAGE ON `nova_api`.* TO `nova`@`%` WITH GRANT OPTION",)  # with it the last right on them is gone
    for grants, taken in (
        (GRANTS + before, [*former, "ALL PRIVILEGES ON `nova_api`", *passed_on]),
        (GRANTS + empty, [*former, "GRANT OPTION ON `nova_api`"]),
        (GRANTS[:3] + GRANTS[5:], []),
    ):
        connection = Connection(*grants)
        monkeypatch.setattr(accounts, "connect", lambda connection=connection, **_: connection)
        await MariaDbDatabase().account(action, {"password": "root-pw"}, {"password": "pw"})
        wanted = [(f"REVOKE {each}.* FROM %s@'%%'", ("nova",)) for each in taken]
        assert connection.revoked() == wanted
        texts = [text.split()[0] for text, _ in connection.ran]
        assert texts.index("SHOW") > texts.index("GRANT"), "there is no moment without rights"


@pytest.mark.parametrize("pattern", ["nova%", "%", "100%d", "we``ird", r"nova\_%s"])
async def test_rights_on_any_pattern_are_revoked_by_the_driver(monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    """Rights that were granted manually: a % in them is not a placeholder for a value."""
    connection = Connection(f"GRANT ALL PRIVILEGES ON `{pattern}`.* TO `nova`@`%`")
    monkeypatch.setattr(accounts, "connect", lambda **_: connection)
    await MariaDbDatabase().account(account(username="nova"), {"password": "root-pw"}, {"password": "pw"})
    ((text, bound),) = connection.revoked()
    escaped = text % tuple(pymysql.converters.escape_item(value, "utf8mb4") for value in bound)
    assert escaped == f"REVOKE ALL PRIVILEGES ON `{pattern}`.* FROM 'nova'@'%'"


HASH = "IDENTIFIED BY PASSWORD '*0123 WITH GRANT'"


@pytest.mark.parametrize(
    ("held", "taken"),
    [
        (f"GRANT SELECT ON *.* TO `nova`@`%` {HASH}", ["ALL PRIVILEGES ON *.*"]),
        ("GRANT SELECT, SHOW DATABASES, BINLOG MONITOR ON *.* TO `nova`@`%`", ["ALL PRIVILEGES ON *.*"]),
        (
            f"GRANT ALL PRIVILEGES ON *.* TO `nova`@`%` {HASH} WITH GRANT OPTION MAX_QUERIES_PER_HOUR 5",
            ["GRANT OPTION ON *.*", "ALL PRIVILEGES ON *.*"],
        ),
        (f"GRANT USAGE ON *.* TO `nova`@`%` {HASH} WITH GRANT OPTION", ["GRANT OPTION ON *.*"]),
        (f"GRANT USAGE ON *.* TO `nova`@`%` {HASH} WITH MAX_QUERIES_PER_HOUR 5", []),
        ("GRANT `all``%d` TO `nova`@`%` WITH ADMIN OPTION", ["`all``%d`"]),
        ("SET DEFAULT ROLE `all``%d` FOR `nova`@`%`", []),
        ("GRANT PROXY ON ``@`%` TO `nova`@`%`", []),
        # What all have, or a role has, cannot be taken from the account.
        ("GRANT SELECT ON `reports`.* TO PUBLIC", []),
        ("GRANT SELECT ON *.* TO `reader` WITH GRANT OPTION", []),
        ("GRANT `reader` TO PUBLIC", []),
        ("GRANT `writer` TO `reader`", []),
        ("GRANT SELECT ON `reports`.* TO `nova`@`10.0.0.1`", []),
        ("GRANT SELECT ON `reports`.* TO `novax`@`%`", []),
    ],
)
async def test_rights_on_all_databases_and_roles_are_revoked(
    monkeypatch: pytest.MonkeyPatch, held: str, taken: list[str]
) -> None:
    """Manually granted rights; the desired rights remain."""
    connection = Connection(held, r"GRANT ALL PRIVILEGES ON `nova\_api`.* TO `nova`@`%`", *GRANTS[5:])
    monkeypatch.setattr(accounts, "connect", lambda **_: connection)
    await MariaDbDatabase().account(
        account(username="nova", database="nova_api"), {"password": "root-pw"}, {"password": "pw"}
    )
    revoked = [
        text % tuple(pymysql.converters.escape_item(value, "utf8mb4") for value in bound)
        for text, bound in connection.revoked()
    ]
    assert revoked == [f"REVOKE {each} FROM 'nova'@'%'" for each in taken]


async def test_the_administrator_is_nobodys_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rights on all databases would be taken back."""
    connection = Connection("GRANT ALL PRIVILEGES ON *.* TO `nova`@`%` WITH GRANT OPTION")
    monkeypatch.setattr(accounts, "connect", lambda **_: connection)
    with pytest.raises(TerminalError, match="nova is the administrator by Secret openstack/mariadb-root"):
        await MariaDbDatabase().account(
            account(username="nova"), {"username": "nova", "password": "root-pw"}, {"password": "pw"}
        )
    assert not connection.ran


async def test_an_account_that_was_refused_as_the_administrator_can_be_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was created for it, so nothing is deleted: neither the administrator nor a database."""
    connection = Connection()
    monkeypatch.setattr(accounts, "connect", lambda **_: connection)
    gone = account(username="nova", absent=True, dropped=("keystone",))
    await MariaDbDatabase().account(gone, {"username": "nova", "password": "root-pw"}, {})
    assert not connection.ran


@pytest.mark.parametrize(
    ("held", "wanted", "ran"),
    [
        ("ALL PRIVILEGES", ("SELECT",), ["REVOKE ALL PRIVILEGES ON", "GRANT SELECT ON"]),
        ("SELECT, INSERT, CREATE VIEW", ("SELECT",), ["REVOKE CREATE VIEW, INSERT ON"]),
        ("SELECT", ("select",), []),
        ("SELECT, INSERT", ("ALL PRIVILEGES",), []),
        ("ALL PRIVILEGES", ("all",), []),
        ("SELECT, DELETE HISTORY", ("SELECT", "DELETE VERSIONING ROWS"), []),
        ("SELECT, DELETE VERSIONING ROWS", ("SELECT", "delete history"), []),
        ("SELECT+", ("SELECT",), ["REVOKE GRANT OPTION ON"]),
        ("SELECT, INSERT+", ("SELECT",), ["REVOKE GRANT OPTION, INSERT ON"]),
        ("ALL PRIVILEGES+", ("ALL",), ["REVOKE GRANT OPTION ON"]),
        ("ALL PRIVILEGES+", ("SELECT",), ["REVOKE GRANT OPTION ON", "REVOKE ALL PRIVILEGES ON", "GRANT SELECT ON"]),
    ],
)
async def test_rights_that_an_account_no_longer_needs_are_revoked(
    monkeypatch: pytest.MonkeyPatch, held: str, wanted: tuple[str, ...], ran: list[str]
) -> None:
    """A + means WITH GRANT OPTION: the account could grant its rights to others and get them back."""
    passed_on = " WITH GRANT OPTION" * held.endswith("+")
    connection = Connection(rf"GRANT {held.strip('+')} ON `nova\_api`.* TO `nova`@`%`{passed_on}", *GRANTS[5:])
    monkeypatch.setattr(accounts, "connect", lambda **_: connection)
    action = account(username="nova", database="nova_api", grants=wanted)
    await MariaDbDatabase().account(action, {"password": "root-pw"}, {"password": "pw"})
    texts = [text for text, _ in connection.ran]
    after = texts[next(at for at, text in enumerate(texts) if text.startswith("SHOW")) + 1 :]
    assert after == [rf"{each} `nova\_api`.* {'TO' if each[0] == 'G' else 'FROM'} %s@'%%'" for each in ran]


async def test_no_rights_of_a_deleted_account_are_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = Connection()
    monkeypatch.setattr(accounts, "connect", lambda **_: connection)
    await MariaDbDatabase().account(account(absent=True), {"password": "root-pw"}, {"password": "pw"})
    assert [text.split()[0] for text, _ in connection.ran] == ["DROP"]


@pytest.mark.parametrize(
    ("number", "missing"),
    [
        (1045, "user keystone"),
        (1698, "user keystone"),
        (1044, "database keystone"),
        (1049, "database keystone"),
        (2003, None),
        (1047, None),
    ],
)
async def test_missing_parts_of_an_account_are_found_by_a_login(
    number: int, missing: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def connect(**options: Any) -> Any:
        asked.append((options["user"], options["password"], options["database"]))
        raise pymysql.OperationalError(number, "no")

    monkeypatch.setattr(accounts, "connect", connect)
    if missing is None:
        with pytest.raises(TransientError):
            await MariaDbDatabase().missing(account(), {"password": "root-pw"}, {"password": "pw"})
    else:
        assert (await MariaDbDatabase().missing(account(), {"password": "root-pw"}, {"password": "pw"})).startswith(
            missing
        )
    assert asked == [("keystone", "pw", "keystone")]


async def test_each_database_of_an_account_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = "nova_cell0"

    def connect(**options: Any) -> Any:
        if options["database"] == gone:
            raise pymysql.OperationalError(1049, "Unknown database")
        return server

    server = Mock()
    monkeypatch.setattr(accounts, "connect", connect)
    both = account(database="nova", username="nova", additional=("nova_cell0",))
    found = await MariaDbDatabase().missing(both, {"password": "root-pw"}, {"password": "pw"})
    assert found == "database nova_cell0 or the grants of user nova on it"
    gone = ""
    assert await MariaDbDatabase().missing(both, {"password": "root-pw"}, {"password": "pw"}) == ""
    assert server.close.call_count == 3


@pytest.mark.parametrize("absent", ["user keystone", "database keystone", ""])
async def test_without_the_password_the_administrator_queries_names(
    absent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Server(Connection):
        def execute(self, text: str, bound: Any) -> Any:
            super().execute(text, bound)
            return int(not (absent and absent.split()[0] in text.replace("schemata", "database")))

    server, asked = Server(), []

    def connect(**options: Any) -> Any:
        asked.append((options["user"], options["password"]))
        return server

    monkeypatch.setattr(accounts, "connect", connect)
    assert await MariaDbDatabase().missing(account(), {"password": "root-pw"}, None) == absent
    assert asked == [("root", "root-pw")]
    assert server.ran and all(text.startswith("SELECT") and bound == ("keystone",) for text, bound in server.ran)


@pytest.mark.parametrize("bad", ["a`b", "a'b", "", "a b", "1a", "a;b"])
def test_odd_names_are_refused(bad: str) -> None:
    with pytest.raises(TerminalError):
        list(statements(account(database=bad), "x"))
    with pytest.raises(TerminalError):
        list(statements(account(username=bad), "x"))


@pytest.mark.parametrize(
    "odd", ["ALL ON *.* TO x; --", "GRANT OPTION", "grant option", "SUPER", "LOC\u212a TABLES", ""]
)
def test_an_unknown_privilege_is_rejected_with_the_known_ones(odd: str) -> None:
    with pytest.raises(TerminalError, match=r"privilege.*allowed: ALL, .*UPDATE"):
        list(statements(account(grants=("SELECT", odd)), "x"))


def test_all_is_granted_alone_and_each_privilege_once() -> None:
    for grants, told in {
        ("select", "DELETE VERSIONING ROWS", "DELETE HISTORY"): "SELECT, DELETE HISTORY",
        ("SELECT", "all"): "ALL PRIVILEGES",
    }.items():
        assert [*statements(account(grants=grants), "x")][-1][0] == f"GRANT {told} ON `keystone`.* TO %s@'%%'"


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (
            pymysql.OperationalError(1045, "Access denied for 'root' (using password: YES)"),
            TerminalError,
            "mariadb-root",
        ),
        (pymysql.OperationalError(1047, "WSREP has not yet prepared node"), TransientError, "Galera is not ready"),
        (pymysql.OperationalError(1290, "read-only"), TransientError, "read-only"),
        (pymysql.OperationalError(9999, "?"), TransientError, "9999"),
        (pymysql.ProgrammingError(1064, "near 'IDENTIFIED BY 'hunter2''"), TerminalError, "1064"),
    ],
)
def test_errors_in_words(error: Exception, kind: type[Exception], words: str) -> None:
    raised = error_of(account(), error)
    assert type(raised) is kind
    assert words in str(raised)
    assert "hunter2" not in str(raised)


async def test_a_closed_port_is_not_yet() -> None:
    port = MariaDbDatabase(port=1)
    with pytest.raises(TransientError, match="refused"):
        await port.account(account(), {"password": "x"}, {"password": "y"})
    with pytest.raises(TerminalError, match="no key password"):
        await port.account(account(), {}, {"password": "y"})
