"""Purges soft-deleted rows from Nova's databases: db-purge.py AGE BATCH.

Rows that were deleted more than AGE days ago are moved to shadow tables, BATCH rows per table and iteration. Then all
rows of the shadow tables are deleted, including those of an interrupted earlier run.
"""

import datetime
import sys

import nova.monkey_patch  # noqa: F401 - first: it patches what others import
from nova import config, objects
from nova.cmd import manage
from nova.conf import CONF
from oslo_log import log as logging


def main(age: int, batch: int) -> None:
    config.parse_args(["nova-manage"])
    logging.setup(CONF, "nova")
    objects.register_all()

    before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=age)
    commands = manage.DbCommands()
    result = commands.archive_deleted_rows(
        max_rows=batch, verbose=True, until_complete=True, before=f"{before:%Y-%m-%d %H:%M:%S}", all_cells=True
    )
    if result > 1:
        sys.exit(f"Deleted rows were not archived: {result}")
    result = commands.purge(purge_all=True, verbose=True, all_cells=True)
    if result not in (0, 3):  # 3: no rows to purge
        sys.exit(f"The shadow tables were not purged: {result}")


main(*map(int, sys.argv[1:]))
