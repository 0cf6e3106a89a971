"""Migrates Glance's database to this release and loads the metadata definitions for the image and flavor forms.

One process runs both, because most of the time of a `glance-manage` call is its start. Both steps are repeatable.
"""

import sys
from pathlib import Path

import migrate
import schema
from glance.cmd import manage

sys.argv = ["glance-manage", "db_sync"]
with migrate.marked(schema.connection_of(Path("/etc/glance/glance.conf.d"))):
    try:
        failed = manage.main()
    except SystemExit as end:  # also if there is nothing to do
        failed = end.code
    if failed:
        sys.exit(failed)
manage.DbCommands().load_metadefs(merge=True)  # without it, a namespace stays as an interrupted run left it
