"""Databases and users in a MariaDB, by its own protocol.

Every statement can run twice. Names are checked against a narrow pattern and quoted, passwords are bound by the
driver; neither statements nor passwords get into logs or errors: an error is the server's number and our words.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pymysql

from stackwright.adapters.threads import in_thread
from stackwright.api.services.contracts import PRIVILEGE, PRIVILEGES
from stackwright.core.plan import SqlAccount
from stackwright.core.ports import NotYet, Refused

PORT = 3306
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
# Lines of SHOW GRANTS, to a grantee.
_HELD = re.compile(r"GRANT ([A-Z, ]+) ON (\*|`(?:[^`]|``)+`)\.\* TO (\S+)")
_ROLE = re.compile(r"GRANT (`(?:[^`]|``)+`) TO (\S+)")
ALL = "ALL PRIVILEGES"
OPTION = "GRANT OPTION"  # not part of ALL
_SYNONYMS = {"ALL": ALL, "DELETE VERSIONING ROWS": "DELETE HISTORY"}
# 1044/1045/1227/1698: login or rights; the rest of the numbers are a server that is not (yet) a working primary.
_DENIED = {1044, 1045, 1227, 1698}
# Of a user that does not exist MariaDB says 1045 or 1698, so that nobody learns whether it exists.
NO_LOGIN, NO_DATABASE = (1045, 1698), (1044, 1049)
_NOT_YET = {
    1040: "too many connections",
    1047: "Galera is not ready",
    1053: "it is shutting down",
    1205: "a lock is held too long",
    1213: "a deadlock with another transaction",
    1290: "it is read-only",
    1836: "it is read-only",
    2002: "the connection was refused",
    2003: "the connection was refused",
    2006: "the connection was lost",
    2013: "the connection was lost",
}
Statement = tuple[str, tuple[str, ...]]


# Seconds. Looks are given up by then (runtime/accounts.py), and their threads end with them.
LOOK, WORK = 10, 30


class MariaDbSql:
    """core.ports.Sql; at most `parallel` connections at once, each in a thread."""

    def __init__(self, parallel: int = 4, port: int = PORT) -> None:
        self._slots = asyncio.Semaphore(parallel)
        self._port = port

    async def account(self, action: SqlAccount, admin: Mapping[str, str], password: str) -> None:
        if action.absent and action.username == _login(admin):
            return  # it was refused, so nothing was made for it
        work = list(statements(action, password))
        async with self._slots:
            await in_thread(self._execute, action, admin, work)

    async def missing(self, action: SqlAccount, admin: Mapping[str, str], password: str | None) -> str:
        """Logs in as the account, into each of its databases; without its password, asks as the administrator."""
        async with self._slots:
            if password is None:
                return await in_thread(self._unknown, action, admin)
            return await in_thread(self._missing, action, password)

    def _missing(self, action: SqlAccount, password: str) -> str:
        for database in (action.database, *action.additional):
            try:
                self._connect(action, action.username, password, LOOK, database).close()
            except (pymysql.MySQLError, OSError) as error:
                number = _number(error)
                if number in NO_LOGIN:
                    return f"user {action.username}"
                if number in NO_DATABASE:
                    return f"database {database}, or the right of user {action.username} to it"
                raise error_of(action, error) from None
        return ""

    def _unknown(self, action: SqlAccount, admin: Mapping[str, str]) -> str:
        with self._administrator(action, admin, LOOK) as cursor:
            for what, (text, bound) in looks(action).items():
                if not cursor.execute(text, bound):
                    return what
        return ""

    def _execute(self, action: SqlAccount, admin: Mapping[str, str], work: list[Statement]) -> None:
        with self._administrator(action, admin) as cursor:
            for text, bound in work:
                cursor.execute(text, bound)
            if not action.absent:
                cursor.execute("SHOW GRANTS FOR %s@'%%'", (action.username,))
                held = [str(row[0]) for row in cursor.fetchall()]
                for text, bound in (*revoked(action, held), *narrowed(action, held)):
                    cursor.execute(text, bound)

    @contextmanager
    def _administrator(self, action: SqlAccount, admin: Mapping[str, str], patience: int = WORK) -> Iterator[Any]:
        """A cursor of the administrator's; errors in it are ours."""
        if not admin.get("password"):
            raise Refused(f"Secret {'/'.join(action.admin_secret)} has no key password")
        user = _login(admin)
        if user == action.username:
            secret = "/".join(action.admin_secret)
            raise Refused(f"user {user} is the administrator by Secret {secret}; choose another name")
        try:
            connection = self._connect(action, user, admin["password"], patience)
            with connection, connection.cursor() as cursor:
                yield cursor
        except (pymysql.MySQLError, OSError) as error:
            raise error_of(action, error) from None  # the driver's error may quote the statement

    def _connect(self, action: SqlAccount, user: str, password: str, patience: int, database: str | None = None) -> Any:
        return pymysql.connect(
            host=action.host,
            port=self._port,
            user=user,
            password=password,
            database=database,
            connect_timeout=3,
            read_timeout=patience,
            write_timeout=patience,
            charset="utf8mb4",
            autocommit=True,
        )


def statements(action: SqlAccount, password: str) -> Iterator[Statement]:
    """What to run, in order."""
    databases, user = [_quoted(name) for name in (action.database, *action.additional)], _name(action.username)
    if action.absent:
        yield "DROP USER IF EXISTS %s@'%%'", (user,)
        yield from ((f"DROP DATABASE IF EXISTS {_quoted(name)}", ()) for name in action.dropped)
        return
    # utf8mb3 as OpenStack's own documents have it: its widest keys were made for three bytes a character.
    for database in databases:
        yield f"CREATE DATABASE IF NOT EXISTS {database} CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci", ()
    yield "CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY %s", (user, password)
    yield "ALTER USER %s@'%%' IDENTIFIED BY %s", (user, password)
    grants = ", ".join(_wanted(action))
    for database in databases:
        yield f"GRANT {grants} ON {_exactly(database)}.* TO %s@'%%'", (user,)


def looks(action: SqlAccount) -> dict[str, Statement]:
    """What never changes of an account, in words → the query that finds it."""
    return {
        f"user {action.username}": ("SELECT 1 FROM mysql.user WHERE User = %s AND Host = '%%'", (action.username,)),
        f"database {action.database}": (
            "SELECT 1 FROM information_schema.schemata WHERE schema_name = %s",
            (action.database,),
        ),
    }


def revoked(action: SqlAccount, grants: Iterable[str]) -> Iterator[Statement]:
    """What takes away roles, and rights on databases that the spec does not name or on all, by SHOW GRANTS.

    It named them before, an earlier version gave rights on a pattern, or somebody gave more by hand. Databases
    stay, and so do rights on tables.
    """
    grants = list(grants)
    for role in filter(None, map(_ROLE.match, grants)):
        if role[2] == _grantee(action):
            yield _revoke(action, role[1])
    names = {_exactly(_quoted(name)) for name in (action.database, *action.additional)}
    for pattern, held in _held(action, grants):
        if pattern not in names:
            # Of a pattern without any rights nothing can be revoked: that would be an error.
            yield from _taken(action, pattern, [OPTION] * (OPTION in held) + [ALL] * bool(held - {OPTION}))


def narrowed(action: SqlAccount, grants: Iterable[str]) -> Iterator[Statement]:
    """What takes away rights on its databases that it has by SHOW GRANTS, and is not to have any more."""
    wanted = _wanted(action)
    names = {_exactly(_quoted(name)) for name in (action.database, *action.additional)}
    for name, held in _held(action, grants):
        if name not in names:
            continue
        surplus = held - set(wanted)
        if ALL in wanted:
            surplus &= {OPTION}
        if ALL in surplus:  # those that it keeps cannot be told apart from these
            yield from _taken(action, name, [OPTION] * (OPTION in surplus) + [ALL])
            yield f"GRANT {', '.join(wanted)} ON {name}.* TO %s@'%%'", (_name(action.username),)
        elif surplus:
            yield from _taken(action, name, [", ".join(sorted(surplus))])


def _held(action: SqlAccount, grants: Iterable[str]) -> Iterator[tuple[str, set[str]]]:
    """Quoted pattern of databases, or * → privileges, of each line of SHOW GRANTS that is about whole databases.

    Only what was given to the account itself: of what PUBLIC or a role has, it cannot be deprived.
    """
    for line in grants:
        if (found := _HELD.match(line)) and found[3] == _grantee(action):
            held = {_SYNONYMS.get(each.strip(), each.strip()) for each in found[1].split(",")} - {"USAGE"}
            yield found[2], held | {OPTION} if f" WITH {OPTION}" in line[found.end() :] else held


def _taken(action: SqlAccount, pattern: str, each: Iterable[str]) -> Iterator[Statement]:
    return (_revoke(action, f"{taken} ON {pattern}.*") for taken in each)


def _revoke(action: SqlAccount, what: str) -> Statement:
    """What was given by hand may have any name, with the driver's % in it."""
    return f"REVOKE {what.replace('%', '%%')} FROM %s@'%%'", (_name(action.username),)


def error_of(action: SqlAccount, error: Any) -> Exception:
    """The server's error by its number."""
    number = _number(error)
    where = f"MariaDB at {action.host}"
    if number in _DENIED:
        secret = "/".join(action.admin_secret)
        return Refused(f"{where} denies the administrator access: is the password in Secret {secret} its own?")
    if number in _NOT_YET:
        return NotYet(f"{where}: {_NOT_YET[number]}")
    if isinstance(error, pymysql.OperationalError | pymysql.InterfaceError | OSError):
        return NotYet(f"{where}: it does not answer (error {number})")
    return Refused(f"{where} refuses to {action.target}: error {number}")


def _number(error: Any) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise Refused(f"{text!r} cannot be the name of a database or user: letters, digits, - and _ only")
    return text


def _grantee(action: SqlAccount) -> str:
    """The account in SHOW GRANTS."""
    return f"{_quoted(action.username)}@`%`"


def _login(admin: Mapping[str, str]) -> str:
    return admin.get("username") or "root"


def _quoted(text: str) -> str:
    return f"`{_name(text)}`"


def _exactly(quoted: str) -> str:
    """For GRANT, where _ in a database stands for any character."""
    return quoted.replace("_", r"\_")


def _wanted(action: SqlAccount) -> list[str]:
    """Privileges by their first names, each once; ALL is given alone."""
    for text in action.grants:
        if text.upper() not in PRIVILEGES:
            raise Refused(f"{text!r} {PRIVILEGE.message}")
    wanted = [_SYNONYMS.get(text.upper(), text.upper()) for text in action.grants]
    return [ALL] if ALL in wanted else list(dict.fromkeys(wanted))
