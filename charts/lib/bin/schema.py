"""Waits for the schema of a database, for scripts of charts that know what it must have.

The wait is cheap on purpose: nothing of the service itself is loaded.
"""

import configparser
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path

import pymysql


def connection_of(snippets: Path, section: str = "database") -> str:
    """The URL of a database, from the configuration's snippets as the service itself reads them."""
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
    """What Alembic has noted."""
    cursor.execute("SELECT version_num FROM alembic_version")
    return {row[0] for row in cursor.fetchall()}


def wait(missing: Callable[[], str], what: str) -> None:
    """Until nothing is missing; a server that does not answer is a cause like another. Each cause is told once."""
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
