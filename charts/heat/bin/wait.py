"""Waits until db-sync has migrated the database to the version of this image.

An engine that starts earlier ends with an error. The required version is read from the migrations of Heat in this image.
"""

from pathlib import Path

import schema

schema.wait_for(schema.connection_of(Path("/etc/heat/heat.conf.d")), schema.newest("heat"))
