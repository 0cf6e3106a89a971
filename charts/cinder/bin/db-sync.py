"""Brings Cinder's database to the version of this image, in one process.

Each step changes nothing when there is nothing to do, so the Job may be killed and repeated at any point.
"""

import sys

import sqlalchemy
from alembic.runtime import migration
from cinder import objects, version
from cinder.cmd import manage
from cinder.db.sqlalchemy import api as db_api
from oslo_config import cfg
from oslo_log import log as logging

CONF = cfg.CONF


def forget_half_a_schema(engine: sqlalchemy.Engine) -> bool:
    """Whether the database was ever brought to a version; MariaDB cannot undo what a killed first run has made.

    The first migration makes all tables and its number is written last, together with its few rows: tables without a
    number are such a rest. They are dropped, if they are all empty.
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
        sys.exit(f"Database {engine.url.database} has no version of Cinder, but data in: {', '.join(filled)}")
    tables.drop_all(engine)
    return False


def main() -> None:
    objects.register_all()
    CONF([], project="cinder", version=version.version_string())
    logging.setup(CONF, "cinder")
    old = forget_half_a_schema(db_api.get_engine())
    manage.DbCommands().sync()
    if old:
        manage.DbCommands().online_data_migrations()
    print("database: done", flush=True)


main()
