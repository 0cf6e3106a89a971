"""Waits until db-sync has migrated the database to the version of this image.

An engine that starts earlier ends with an error. The required version is read from the migrations of Heat in this image.
"""

import importlib.util
import re
from pathlib import Path

import schema

SNIPPETS = Path("/etc/heat/heat.conf.d")


def latest() -> str:
    """The newest migration: the one that no other migration follows."""
    heat = importlib.util.find_spec("heat")
    assert heat and heat.origin, "this image has no Heat"
    revisions, followed = set(), set()
    for path in Path(heat.origin).parent.glob("db/migrations/versions/*.py"):
        text = path.read_text(encoding="utf-8")
        revisions.update(re.findall(r"^revision = '(\w+)'", text, re.MULTILINE))
        followed.update(re.findall(r"^down_revision = '(\w+)'", text, re.MULTILINE))
    (last,) = revisions - followed
    return last


def missing(url: str, version: str) -> str:
    with schema.connect(url) as server, server.cursor() as cursor:
        return "" if version in schema.versions(cursor) else f"version {version}"


def main() -> None:
    url, version = schema.connection_of(SNIPPETS), latest()
    schema.wait(lambda: missing(url, version), "the database's schema")


main()
