"""Brings Glance's database to this release and loads the metadata definitions, which the image and flavor forms offer.

In one process, for most of the time of a `glance-manage` goes into its start. Neither changes what is there already.
"""

import sys

from glance.cmd import manage

sys.argv = ["glance-manage", "db_sync"]
if failed := manage.main():
    sys.exit(failed)
manage.DbCommands().load_metadefs()
