"""Runs a migration of a database so that an interrupted first one starts again, with an empty database.

MariaDB commits each CREATE and ALTER TABLE at once. A migration that is killed after one of them, and before its
version is recorded, fails when it is repeated. A table of ours marks a database that was empty when its migration
began, until the migration ends. APIs wait until the mark is gone. If the migration of a marked database that contains
tables fails, they are dropped and it begins again; if it succeeds, nothing was missing. A database that contains tables
without the mark belongs to a user, and is only migrated.

As a program: migrate.py <folder of configuration files> <section with the connection> <command> <its arguments>…
"""

import os
import runpy
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql
import schema
from schema import MARK

PATIENCE = 5  # seconds; shorter than the timeout of a read


@contextmanager
def marked(url: str) -> Iterator[bool]:
    """Whether the migration in this context is the first one. The process begins again if remains prevent it."""
    with schema.connect(url) as server, server.cursor() as cursor:
        _lock(cursor)
        tables = _tables(cursor)
        first = not tables or MARK in tables
        if not tables:
            cursor.execute(f"CREATE TABLE {MARK} (id INTEGER PRIMARY KEY)")
        try:
            yield first
        except BaseException as error:
            if not first or tables <= {MARK}:
                raise
            print(f"The first migration was interrupted, and cannot be continued ({error!r})", flush=True)
            _drop(cursor)
            os.execv(sys.executable, sys.orig_argv)
        if first:
            cursor.execute(f"DROP TABLE {MARK}")


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


def _drop(cursor: pymysql.cursors.Cursor) -> None:
    """Drops all tables but the mark."""
    remains = sorted(_tables(cursor) - {MARK})
    print(f"Dropping its {len(remains)} tables", flush=True)
    cursor.execute("SET FOREIGN_KEY_CHECKS = 0")
    cursor.execute("DROP TABLE " + ", ".join(f"`{name}`" for name in remains))


def main(snippets: str, section: str, *command: str) -> None:
    program = shutil.which(command[0])
    if not program:
        sys.exit(f"{command[0]}: not found")
    with marked(schema.connection_of(Path(snippets), section)):
        sys.argv = list(command)
        try:
            runpy.run_path(program, run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise


if __name__ == "__main__":
    main(*sys.argv[1:])
