"""Waits until db-sync has migrated the database to the version of this image.

A worker that starts earlier could not process orders. The required version is read from the migrations of Barbican in
this image.
"""

from pathlib import Path

import schema

SNIPPETS = Path("/etc/barbican/barbican.conf.d")

schema.wait_for(schema.connection_of(SNIPPETS), schema.newest("barbican", "model/migration/alembic_migrations"))
