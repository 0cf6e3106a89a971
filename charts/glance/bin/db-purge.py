"""Purges soft-deleted rows from Glance's database: db-purge.py AGE IMAGES_AGE BATCH.

Rows that were deleted more than AGE days ago are removed, BATCH rows per table and statement, so that no statement
locks many rows. Rows of images are removed after IMAGES_AGE days; until then no new image can have the same ID.
"""

import sys

from glance.cmd import manage
from glance.common import config
from glance.db.sqlalchemy import api
from oslo_config import cfg
from oslo_log import log as logging
from sqlalchemy import event

deleted = 0


def count(_connection: object, cursor: object, statement: str, *_more: object) -> None:
    global deleted
    if statement.startswith("DELETE"):
        deleted += cursor.rowcount


def main(age: int, images_age: int, batch: int) -> None:
    logging.register_options(cfg.CONF)
    config.parse_args(args=[], default_config_files=cfg.find_config_files(project="glance", prog="glance-api"))
    config.set_config_defaults()
    logging.setup(cfg.CONF, "glance")
    event.listen(api.get_engine(), "after_cursor_execute", count)

    commands = manage.DbCommands()
    for purge, days in ((commands.purge, age), (commands.purge_images_table, images_age)):
        before = -1
        while deleted != before:
            before = deleted
            purge(days, batch)
    print(f"{deleted} rows purged", flush=True)


main(*map(int, sys.argv[1:]))
