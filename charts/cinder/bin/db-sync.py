"""Migrates Cinder's database to the version of this image, in one process.

Each step is idempotent, so the Job may be killed and repeated at any point.
"""

import half_a_schema
from cinder import objects, version
from cinder.cmd import manage
from cinder.db.sqlalchemy import api as db_api
from oslo_config import cfg
from oslo_log import log as logging

CONF = cfg.CONF


def main() -> None:
    objects.register_all()
    CONF([], project="cinder", version=version.version_string())
    logging.setup(CONF, "cinder")
    old = half_a_schema.forget(db_api.get_engine(), "Cinder")
    manage.DbCommands().sync()
    if old:
        manage.DbCommands().online_data_migrations()
    print("database: done", flush=True)


main()
