"""Migrates Glance's database to this release and loads the metadata definitions for the image and flavor forms.

One process runs both, because most of the time of a `glance-manage` call is its start. Both steps are idempotent.
"""

import sys

from glance.cmd import manage

sys.argv = ["glance-manage", "db_sync"]
if failed := manage.main():
    sys.exit(failed)
manage.DbCommands().load_metadefs()
