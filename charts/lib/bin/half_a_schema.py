"""What a killed first run of migrations leaves, for scripts of charts: MariaDB cannot undo the making of tables."""

import sys

import sqlalchemy
from alembic.runtime import migration


def forget(engine: sqlalchemy.Engine, service: str) -> bool:
    """Whether the database was ever brought to a version.

    The first migration makes all tables, and its number is written last: tables without a number are such a rest. They
    are dropped, if they are all empty.
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
