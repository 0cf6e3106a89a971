"""Waits until db-sync has brought both databases to the version of this image and has recorded the cells.

A Nova process that starts earlier ends with an error, or goes on without the cell. The wait is cheap on purpose: it
loads nothing of Nova, and takes the wanted versions from the names of its migrations.
"""

import configparser
import importlib.util
import re
import time
import urllib.parse
from pathlib import Path

import pymysql

SNIPPETS = Path("/etc/nova/nova.conf.d")
WANTED = {"api_database": "api", "database": "main"}  # section: folder of its migrations


def latest(database: str) -> str:
    """The migration that no other one follows."""
    nova = importlib.util.find_spec("nova")
    assert nova and nova.origin, "this image has no Nova"
    revisions, followed = set(), set()
    for path in Path(nova.origin).parent.glob(f"db/{database}/migrations/versions/*.py"):
        text = path.read_text(encoding="utf-8")
        revisions.update(re.findall(r"^revision = '(\w+)'", text, re.MULTILINE))
        followed.update(re.findall(r"^down_revision = '(\w+)'", text, re.MULTILINE))
    (last,) = revisions - followed
    return last


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


def missing(url: str, section: str) -> str:
    """What is not there yet; empty when all is."""
    with connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT version_num FROM alembic_version")
        versions = {row[0] for row in cursor.fetchall()}
        if latest(WANTED[section]) not in versions:
            return f"version {latest(WANTED[section])}"
        if section == "api_database" and not cursor.execute("SELECT 1 FROM cell_mappings WHERE name = 'cell1'"):
            return "cell1"
    return ""


def main() -> None:
    conf = configparser.RawConfigParser(strict=False)
    conf.read(sorted(SNIPPETS.glob("*.conf")))
    said = ""
    for section in WANTED:
        while True:
            try:
                lack = missing(conf[section]["connection"], section)
            except pymysql.MySQLError as error:
                lack = str(error)
            if not lack:
                break
            if lack != said:
                print(f"Waiting for [{section}]: {lack}", flush=True)
                said = lack
            time.sleep(1)


main()
