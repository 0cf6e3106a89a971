"""Waits for the schema of a database, for scripts that know the required version.

It imports nothing of the service itself, to save memory and time.
"""

import configparser
import importlib.util
import re
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path

import pymysql

MARK = "stackwright_first_migration"  # a table that exists while the first migration of the database runs (migrate.py)


def connection_of(snippets: Path, section: str = "database") -> str:
    """The URL of a database, from the same configuration files as the service."""
    conf = configparser.RawConfigParser(strict=False)
    conf.read(sorted(snippets.glob("*.conf")))
    return conf[section]["connection"]


def connect(url: str) -> pymysql.Connection:
    parts = urllib.parse.urlsplit(url)
    return pymysql.connect(
        host=parts.hostname,
        port=parts.port or 3306,
        user=urllib.parse.unquote(parts.username or ""),
        password=urllib.parse.unquote(parts.password or ""),
        database=parts.path.lstrip("/"),
        connect_timeout=5,
        read_timeout=10,
    )


def versions(cursor: pymysql.cursors.Cursor) -> set[str]:
    """The versions that Alembic has recorded; none before the first migration has ended."""
    if cursor.execute("SHOW TABLES LIKE %s", (MARK,)):
        return set()
    cursor.execute("SELECT version_num FROM alembic_version")
    return {row[0] for row in cursor.fetchall()}


def newest(package: str, folder: str = "db/migrations") -> str:
    """The newest migration of a service in this image: the one that no other migration follows."""
    found = importlib.util.find_spec(package)
    assert found and found.origin, f"this image has no {package}"
    revisions, followed = set(), set()
    for path in Path(found.origin).parent.glob(f"{folder}/versions/*.py"):
        text = path.read_text(encoding="utf-8")
        revisions.update(re.findall(r"^revision = ['\"](\w+)['\"]", text, re.MULTILINE))
        followed.update(re.findall(r"^down_revision = ['\"](\w+)['\"]", text, re.MULTILINE))
    (last,) = revisions - followed
    return last


def wait_for(url: str, version: str) -> None:
    """Waits until the database has this version."""

    def missing() -> str:
        with connect(url) as server, server.cursor() as cursor:
            return "" if version in versions(cursor) else f"version {version}"

    wait(missing, "the database's schema")


def wait_for_any(url: str) -> None:
    """Waits until the first migration has ended. A repeated one would drop what users create before."""

    def missing() -> str:
        with connect(url) as server, server.cursor() as cursor:
            return "" if versions(cursor) else "no version"

    wait(missing, "the database's schema")


def wait(missing: Callable[[], str], what: str) -> None:
    """Waits until nothing is missing; errors of the server count as missing. Logs the cause when it changes."""
    said = ""
    while True:
        try:
            lack = missing()
        except pymysql.MySQLError as error:
            lack = str(error)
        if not lack:
            return
        if lack != said:
            print(f"Waiting for {what}: {lack}", flush=True)
            said = lack
        time.sleep(1)
