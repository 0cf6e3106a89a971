"""Runs a migration of a database so that an interrupted first one starts again, with an empty database.

MariaDB commits each CREATE and ALTER TABLE at once. A migration that is killed after one of them, and before its
version is recorded, fails when it is repeated, or skips what is missing. A table of ours marks a database that was
empty when its migration began, until the migration ends; APIs wait until the mark is gone, except Keystone, to which
nobody can log in before. Tables of a marked database are dropped before a migration, unless they contain more rows than
migrations insert. A database that contains tables without the mark belongs to a user, and is only migrated.

One process migrates at a time, but the lock is of one server: after a failover, another process may have begun again.
So the mark has an owner, and only the owner removes it.

As a program: migrate.py <folder of configuration files> <section with the connection> <command> <its arguments>…
"""

import runpy
import shutil
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql
import schema
from schema import MARK

PATIENCE = 5  # seconds; shorter than the timeout of a read
ROWS = 100  # in all tables; migrations of an empty database insert some ten rows
OWNER = "SELECT table_comment FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = %s"
ATTEMPTS = 60  # to remove the mark, one each second


@contextmanager
def marked(url: str) -> Iterator[bool]:
    """Whether the migration in this context is the first one. An exception, but for a successful exit, keeps the mark.

    Raises SystemExit if an incomplete database contains data.
    """
    owner = uuid.uuid4().hex
    with schema.connect(url) as server, server.cursor() as cursor:
        _lock(cursor)
        cursor.execute("SET wsrep_sync_wait = 1")  # a server of Galera answers when it has applied all earlier writes
        tables = _tables(cursor)
        first = not tables or MARK in tables
        if MARK in tables:
            _empty(cursor, sorted(tables - {MARK}))
        if first:
            cursor.execute(f"CREATE OR REPLACE TABLE {MARK} (id INTEGER PRIMARY KEY) COMMENT = '{owner}'")
        is_done = False
        try:
            yield first
            is_done = True
        except SystemExit as end:
            is_done = not end.code
            raise
        finally:
            if first and is_done:
                _remove_mark(url, owner)


def _lock(cursor: pymysql.cursors.Cursor) -> None:
    """Waits for the migration of a pod that still ends. The server releases the lock with its connection."""
    while True:
        cursor.execute("SELECT GET_LOCK(DATABASE(), %s)", (PATIENCE,))
        (taken,) = cursor.fetchone()
        if taken:
            return
        print("Waiting for another process that migrates the database", flush=True)
        time.sleep(1)


def _tables(cursor: pymysql.cursors.Cursor) -> set[str]:
    cursor.execute("SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'")
    return {row[0] for row in cursor.fetchall()}


def _empty(cursor: pymysql.cursors.Cursor, remains: list[str]) -> None:
    """Drops the tables that an interrupted migration left. A dump that was restored meanwhile has more rows."""
    rows = 0
    for name in remains:
        cursor.execute(f"SELECT COUNT(*) FROM (SELECT 1 FROM `{name}` LIMIT {ROWS + 1}) AS found")
        rows += cursor.fetchone()[0]
        if rows > ROWS:
            sys.exit(f"The first migration has not ended, but there are many rows: drop table {MARK} to keep them")
    if remains:
        print(f"The first migration was interrupted: dropping its {len(remains)} tables", flush=True)
        cursor.execute("SET FOREIGN_KEY_CHECKS = 0")
        cursor.execute("DROP TABLE " + ", ".join(f"`{name}`" for name in remains))


def _remove_mark(url: str, owner: str) -> None:
    """Over a new connection, because the first one may be lost since a failover. Nova copies each table as shadow_…

    Raises SystemExit if another process has begun the migration again, which may have dropped tables of this one.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with schema.connect(url) as server, server.cursor() as cursor:
                cursor.execute(OWNER, (MARK,))
                if any(row[0] != owner for row in cursor.fetchall()):
                    sys.exit("Another process has begun this migration again: repeat it")
                cursor.execute(f"DROP TABLE IF EXISTS shadow_{MARK}, {MARK}")
                return
        except pymysql.MySQLError as error:
            if attempt == ATTEMPTS:
                raise
            print(f"The mark of the first migration is not removed yet: {error}", flush=True)
            time.sleep(1)


def main(snippets: str, section: str, *command: str) -> None:
    program = shutil.which(command[0])
    if not program:
        sys.exit(f"{command[0]}: not found")
    with marked(schema.connection_of(Path(snippets), section)):
        sys.argv = list(command)
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
