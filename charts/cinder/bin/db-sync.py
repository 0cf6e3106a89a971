"""Migrates Cinder's database to the version of this image, in one process.

The Job may be killed and repeated at any point of a first migration.
"""

import migrate
from cinder import objects, version
from cinder.cmd import manage
from oslo_config import cfg
from oslo_log import log as logging

CONF = cfg.CONF


def main() -> None:
    objects.register_all()
    CONF([], project="cinder", version=version.version_string())
    logging.setup(CONF, "cinder")
    with migrate.marked(CONF.database.connection) as first:
        manage.DbCommands().sync()
        if not first:
            manage.DbCommands().online_data_migrations()
    print("database: done", flush=True)


main()
