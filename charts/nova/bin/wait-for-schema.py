"""Waits until db-sync has migrated both databases to the version of this image and has recorded the cells.

A Nova process that starts earlier ends with an error or runs without the cell. The required versions are read from
Nova's migrations in this image.
"""

from pathlib import Path

import schema

SNIPPETS = Path("/etc/nova/nova.conf.d")
WANTED = {"api_database": "db/api/migrations", "database": "db/main/migrations"}  # section: its migrations


def missing(url: str, section: str, version: str) -> str:
    """What is missing; empty if nothing is."""
    with schema.connect(url) as server, server.cursor() as cursor:
        if version not in schema.versions(cursor):
            return f"version {version}"
        if section == "api_database" and not cursor.execute("SELECT 1 FROM cell_mappings WHERE name = 'cell1'"):
            return "cell1"
    return ""


for section, folder in WANTED.items():
    url, version = schema.connection_of(SNIPPETS, section), schema.newest("nova", folder)
    schema.wait(lambda: missing(url, section, version), f"[{section}]")
