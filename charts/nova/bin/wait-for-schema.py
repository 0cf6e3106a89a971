"""Waits until db-sync has migrated both databases to the version of this image and has recorded the cells.

A Nova process that starts earlier ends with an error or runs without the cell. The required versions are read from
Nova's migrations in this image.
"""

import importlib.util
import re
from pathlib import Path

import schema

SNIPPETS = Path("/etc/nova/nova.conf.d")
WANTED = {"api_database": "api", "database": "main"}  # section: folder of its migrations


def latest(database: str) -> str:
    """The newest migration: the one that no other migration follows."""
    nova = importlib.util.find_spec("nova")
    assert nova and nova.origin, "this image has no Nova"
    revisions, followed = set(), set()
    for path in Path(nova.origin).parent.glob(f"db/{database}/migrations/versions/*.py"):
        text = path.read_text(encoding="utf-8")
        revisions.update(re.findall(r"^revision = '(\w+)'", text, re.MULTILINE))
        followed.update(re.findall(r"^down_revision = '(\w+)'", text, re.MULTILINE))
    (last,) = revisions - followed
    return last


def missing(url: str, section: str, version: str) -> str:
    """What is missing; empty if nothing is."""
    with schema.connect(url) as server, server.cursor() as cursor:
        if version not in schema.versions(cursor):
            return f"version {version}"
        if section == "api_database" and not cursor.execute("SELECT 1 FROM cell_mappings WHERE name = 'cell1'"):
            return "cell1"
    return ""


for section, folder in WANTED.items():
    url, version = schema.connection_of(SNIPPETS, section), latest(folder)
    schema.wait(lambda: missing(url, section, version), f"[{section}]")
