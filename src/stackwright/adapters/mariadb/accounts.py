"""Databases and users in MariaDB, over its own protocol.

Every statement is idempotent. Names are checked against a narrow pattern and quoted, and the driver binds passwords.
Neither statements nor passwords appear in logs or errors: an error has the server's number and our own text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import pymysql

from stackwright.adapters.mariadb.connection import connect, where
from stackwright.adapters.threads import Workers
from stackwright.api.services.contracts import PRIVILEGE, PRIVILEGES
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.plan.accounts import EnsureDatabaseAccount
from stackwright.core.ports import CHECK_SECONDS

PORT = 3306
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
# Lines of SHOW GRANTS: privileges on databases, and roles.
_HELD = re.compile(r"GRANT ([A-Z, ]+) ON (\*|`(?:[^`]|``)+`)\.\* TO (\S+)")
_ROLE = re.compile(r"GRANT (`(?:[^`]|``)+`) TO (\S+)")
ALL = "ALL PRIVILEGES"
OPTION = "GRANT OPTION"  # not part of ALL
_SYNONYMS = {"ALL": ALL, "DELETE VERSIONING ROWS": "DELETE HISTORY"}
# Log-in or privileges denied; the numbers in _NOT_YET are from a server that is not (yet) a working primary.
_DENIED = {1044, 1045, 1227, 1698}
# MariaDB returns 1045 or 1698 for an unknown user, too, to hide whether a user exists.
NO_LOGIN, NO_DATABASE = (1045, 1698), (1044, 1049)
_NOT_YET = {
    1040: "too many connections",
    1047: "Galera is not ready",
    1053: "it is shutting down",
    1205: "a lock was held too long",
    1213: "a deadlock with another transaction",
    1290: "it is read-only",
    1836: "it is read-only",
    2002: "the connection was refused",
    2003: "the connection was refused",
    2006: "the connection was lost",
    2013: "the connection was lost",
}
SERVERS_OWN = 1000  # smallest number of an error of a server
Statement = tuple[str, tuple[str, ...]]
T = TypeVar("T")


WORK = 60.0  # seconds for all connections and statements of a call that changes something


class MariaDbDatabase:
    """core.ports.Provider of EnsureDatabaseAccount. A call has a thread and a deadline, after which nothing is sent."""

    def __init__(self, port: int = PORT) -> None:
        self._workers = Workers()
        self._port = port

    async def account(self, action: EnsureDatabaseAccount, admin: Mapping[str, str], own: Mapping[str, str]) -> None:
        if action.absent and action.username == _login(admin):
            return  # this account was refused, so nothing was created for it
        work = list(statements(action, own.get("password", "")))
        await self._call(action, WORK, lambda: self._execute(action, admin, work))

    async def missing(
        self, action: EnsureDatabaseAccount, admin: Mapping[str, str], own: Mapping[str, str] | None
    ) -> str:
        """Log in as the account to each of its databases; without its password, check as the administrator."""
        if own is None:
            return await self._call(action, CHECK_SECONDS, lambda: self._unknown(action, admin))
        return await self._call(action, CHECK_SECONDS, lambda: self._missing(action, own["password"]))

    async def _call(self, action: EnsureDatabaseAccount, seconds: float, what: Callable[[], T]) -> T:
        try:
            return await self._workers.call(action.secret[0], seconds, what)
        except TimeoutError:
            raise TransientError(f"{where(action.host)}: no complete response within {seconds:.0f} s") from None

    def _missing(self, action: EnsureDatabaseAccount, password: str) -> str:
        for database in (action.database, *action.additional):
            try:
                self._connect(action, action.username, password, database).close()
            except (pymysql.MySQLError, OSError) as error:
                number = _number(error)
                if number in NO_LOGIN:
                    return f"user {action.username}"
                if number in NO_DATABASE:
                    return f"database {database} or the grants of user {action.username} on it"
                raise error_of(action, error) from None
        return ""

    def _unknown(self, action: EnsureDatabaseAccount, admin: Mapping[str, str]) -> str:
        with self._administrator(action, admin) as cursor:
            for what, (text, bound) in check_queries(action).items():
                if not cursor.execute(text, bound):
                    return what
        return ""

    def _execute(self, action: EnsureDatabaseAccount, admin: Mapping[str, str], work: list[Statement]) -> None:
        with self._administrator(action, admin) as cursor:
            for text, bound in work:
                cursor.execute(text, bound)
            if not action.absent:
                cursor.execute("SHOW GRANTS FOR %s@'%%'", (action.username,))
                held = [str(row[0]) for row in cursor.fetchall()]
                for text, bound in (*revoked(action, held), *narrowed(action, held)):
                    cursor.execute(text, bound)

    @contextmanager
    def _administrator(self, action: EnsureDatabaseAccount, admin: Mapping[str, str]) -> Iterator[Any]:
        """A cursor of the administrator; the driver's errors become TransientError or TerminalError."""
        if not admin.get("password"):
            raise TerminalError(f"Secret {'/'.join(action.admin_secret)} has no key password")
        user = _login(admin)
        if user == action.username:
            secret = "/".join(action.admin_secret)
            raise TerminalError(f"user {user} is the administrator by Secret {secret}; choose another name")
        try:
            connection = self._connect(action, user, admin["password"])
            with connection, connection.cursor() as cursor:
                yield cursor
        except (pymysql.MySQLError, OSError) as error:
            raise error_of(action, error) from None  # the driver's error may quote the statement

    def _connect(self, action: EnsureDatabaseAccount, user: str, password: str, database: str | None = None) -> Any:
        return connect(host=action.host, port=self._port, user=user, password=password, database=database)


def statements(action: EnsureDatabaseAccount, password: str) -> Iterator[Statement]:
    """Statements that create, update or remove the account, in order."""
    databases, user = [_quoted(name) for name in (action.database, *action.additional)], _name(action.username)
    if action.absent:
        yield "DROP USER IF EXISTS %s@'%%'", (user,)
        yield from ((f"DROP DATABASE IF EXISTS {_quoted(name)}", ()) for name in action.dropped)
        return
    # utf8mb3 as in OpenStack's documentation: its widest keys are designed for three bytes per character.
    for database in databases:
        yield f"CREATE DATABASE IF NOT EXISTS {database} CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci", ()
    yield "CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY %s", (user, password)
    yield "ALTER USER %s@'%%' IDENTIFIED BY %s", (user, password)
    grants = ", ".join(_wanted(action))
    for database in databases:
        yield f"GRANT {grants} ON {_exactly(database)}.* TO %s@'%%'", (user,)


def check_queries(action: EnsureDatabaseAccount) -> dict[str, Statement]:
    """Description → query, for each part of an account that never changes."""
    return {
        f"user {action.username}": ("SELECT 1 FROM mysql.user WHERE User = %s AND Host = '%%'", (action.username,)),
        f"database {action.database}": (
            "SELECT 1 FROM information_schema.schemata WHERE schema_name = %s",
            (action.database,),
        ),
    }


def revoked(action: EnsureDatabaseAccount, grants: Iterable[str]) -> Iterator[Statement]:
    """Statements that revoke roles, and privileges on all databases or on databases that the spec does not name.

    Such privileges exist because the spec named the database before, an earlier version granted privileges on a
    pattern, or an administrator granted more. `grants` is from SHOW GRANTS. Databases and privileges on tables are
    kept.
    """
    grants = list(grants)
    for role in filter(None, map(_ROLE.match, grants)):
        if role[2] == _grantee(action):
            yield _revoke(action, role[1])
    names = {_exactly(_quoted(name)) for name in (action.database, *action.additional)}
    for pattern, held in _held(action, grants):
        if pattern not in names:
            # Revoking privileges that the account does not have is an error.
            yield from _taken(action, pattern, [OPTION] * (OPTION in held) + [ALL] * bool(held - {OPTION}))


def narrowed(action: EnsureDatabaseAccount, grants: Iterable[str]) -> Iterator[Statement]:
    """Statements that revoke the surplus privileges (by SHOW GRANTS) on the account's own databases."""
    wanted = _wanted(action)
    names = {_exactly(_quoted(name)) for name in (action.database, *action.additional)}
    for name, held in _held(action, grants):
        if name not in names:
            continue
        surplus = held - set(wanted)
        if ALL in wanted:
            surplus &= {OPTION}
        if ALL in surplus:  # ALL cannot be reduced, so it is revoked and the wanted ones are granted
            yield from _taken(action, name, [OPTION] * (OPTION in surplus) + [ALL])
            yield f"GRANT {', '.join(wanted)} ON {name}.* TO %s@'%%'", (_name(action.username),)
        elif surplus:
            yield from _taken(action, name, [", ".join(sorted(surplus))])


def _held(action: EnsureDatabaseAccount, grants: Iterable[str]) -> Iterator[tuple[str, set[str]]]:
    """(quoted pattern of databases or *, privileges) for each line of SHOW GRANTS about whole databases.

    Only grants to the account itself: those to PUBLIC or a role cannot be revoked from it.
    """
    for line in grants:
        if (found := _HELD.match(line)) and found[3] == _grantee(action):
            held = {_SYNONYMS.get(each.strip(), each.strip()) for each in found[1].split(",")} - {"USAGE"}
            yield found[2], held | {OPTION} if f" WITH {OPTION}" in line[found.end() :] else held


def _taken(action: EnsureDatabaseAccount, pattern: str, each: Iterable[str]) -> Iterator[Statement]:
    return (_revoke(action, f"{taken} ON {pattern}.*") for taken in each)


def _revoke(action: EnsureDatabaseAccount, what: str) -> Statement:
    """A REVOKE statement. Privileges granted by hand may contain %, which the driver requires to be doubled."""
    return f"REVOKE {what.replace('%', '%%')} FROM %s@'%%'", (_name(action.username),)


def error_of(action: EnsureDatabaseAccount, error: Any) -> Exception:
    """TransientError or TerminalError, by the number of the server's error."""
    number = _number(error)
    server = where(action.host)
    if number in _DENIED:
        secret = "/".join(action.admin_secret)
        return TerminalError(f"{server} refuses the administrator's password: check the password in Secret {secret}")
    if number in _NOT_YET:
        return TransientError(f"{server}: {_NOT_YET[number]}")
    if isinstance(error, pymysql.MySQLError) and number < SERVERS_OWN:  # of the driver, about the response
        return TransientError(f"{server}: its response is not of MariaDB's protocol ({type(error).__name__})")
    if isinstance(error, pymysql.OperationalError | pymysql.InterfaceError | OSError):
        return TransientError(f"{server}: it does not respond (error {number})")
    return TerminalError(f"{server} refuses to {action.target}: error {number}")


def _number(error: Any) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise TerminalError(f"{text!r} is not a valid name of a database or user; allowed: letters, digits, - and _")
    return text


def _grantee(action: EnsureDatabaseAccount) -> str:
    """The account in SHOW GRANTS."""
    return f"{_quoted(action.username)}@`%`"


def _login(admin: Mapping[str, str]) -> str:
    return admin.get("username") or "root"


def _quoted(text: str) -> str:
    return f"`{_name(text)}`"


def _exactly(quoted: str) -> str:
    """The name escaped for GRANT, where _ matches any character."""
    return quoted.replace("_", r"\_")


def _wanted(action: EnsureDatabaseAccount) -> list[str]:
    """The spec's privileges without synonyms or duplicates; ALL replaces all others."""
    for text in action.grants:
        if text.upper() not in PRIVILEGES:
            raise TerminalError(f"{text!r} {PRIVILEGE.message}")
    wanted = [_SYNONYMS.get(text.upper(), text.upper()) for text in action.grants]
    return [ALL] if ALL in wanted else list(dict.fromkeys(wanted))
