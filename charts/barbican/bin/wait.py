"""Waits until db-sync has migrated the database to the version of this image.

A worker that starts earlier could not process orders. The required version is read from the migrations of Barbican in
this image.
"""

import importlib.util
import re
from pathlib import Path

import schema

SNIPPETS = Path("/etc/barbican/barbican.conf.d")


def latest() -> str:
    """The newest migration: the one that no other migration follows."""
    barbican = importlib.util.find_spec("barbican")
    assert barbican and barbican.origin, "this image has no Barbican"
    revisions, followed = set(), set()
    for path in Path(barbican.origin).parent.glob("model/migration/alembic_migrations/versions/*.py"):
        text = path.read_text(encoding="utf-8")
        revisions.update(re.findall(r"^revision = ['\"](\w+)['\"]", text, re.MULTILINE))
        followed.update(re.findall(r"^down_revision = ['\"](\w+)['\"]", text, re.MULTILINE))
    (last,) = revisions - followed
    return last


def missing(url: str, version: str) -> str:
    with schema.connect(url) as server, server.cursor() as cursor:
        return "" if version in schema.versions(cursor) else f"version {version}"


def main() -> None:
    url, version = schema.connection_of(SNIPPETS), latest()
    schema.wait(lambda: missing(url, version), "the database's schema")


main()
