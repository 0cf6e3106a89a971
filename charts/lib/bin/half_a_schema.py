"""Removes the tables that an interrupted first migration left, because MariaDB cannot roll back CREATE TABLE."""

import sys

import sqlalchemy
from alembic.runtime import migration


def forget(engine: sqlalchemy.Engine, service: str) -> bool:
    """Whether the database has a version. If not, its tables are dropped, if all are empty.

    The first migration creates all tables and writes the version last, so tables without a version are incomplete.
    Raises SystemExit if such a table contains data.
    """
    with engine.connect() as connection:
        if migration.MigrationContext.configure(connection).get_current_revision():
            return True
        tables = sqlalchemy.MetaData()
        tables.reflect(connection)
        filled = [
            name
            for name, table in tables.tables.items()
            if connection.scalar(sqlalchemy.select(sqlalchemy.func.count()).select_from(table))
        ]
    if filled:
        sys.exit(f"Database {engine.url.database} has no version of {service}, but data in: {', '.join(filled)}")
    tables.drop_all(engine)
    return False
