"""Runs a migration of a database so that an interrupted first one starts again, with an empty database.

MariaDB commits each CREATE and ALTER TABLE at once. A migration that is killed after one of them, and before its
version is recorded, fails when it is repeated. A table of ours marks a database that was empty when its migration
began, until the migration ends. Nothing but migrations has written to a marked database, so its other tables can be
dropped. A database that contains tables without the mark belongs to a user, and is only migrated.

As a program: migrate.py <folder of configuration files> <command> <arguments of the command>…
"""

import runpy
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql
import schema

MARK = "stackwright_first_migration"
PATIENCE = 5  # seconds; shorter than the timeout of a read


@contextmanager
def marked(url: str) -> Iterator[bool]:
    """Whether the migration in this context is the first one. Its exception leaves the mark."""
    with schema.connect(url) as server, server.cursor() as cursor:
        _lock(cursor)
        first = _begin(cursor)
        yield first
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


def _begin(cursor: pymysql.cursors.Cursor) -> bool:
    cursor.execute("SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'")
    tables = {row[0] for row in cursor.fetchall()}
    if not tables:
        cursor.execute(f"CREATE TABLE {MARK} (id INTEGER PRIMARY KEY)")
        return True
    if MARK not in tables:
        return False
    if incomplete := sorted(tables - {MARK}):
        print(f"The first migration was interrupted: dropping its {len(incomplete)} tables", flush=True)
        cursor.execute("SET FOREIGN_KEY_CHECKS = 0")
        cursor.execute("DROP TABLE " + ", ".join(f"`{name}`" for name in incomplete))
    return True


def main(snippets: str, *command: str) -> None:
    program = shutil.which(command[0])
    if not program:
        sys.exit(f"{command[0]}: not found")
    with marked(schema.connection_of(Path(snippets))):
        sys.argv = list(command)
        try:
            runpy.run_path(program, run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise


if __name__ == "__main__":
    main(*sys.argv[1:])
