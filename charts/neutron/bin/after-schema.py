"""Runs a program when the database has the schema that this image's Neutron needs.

A server that starts earlier ends with an error, and Kubernetes lets it wait longer each time. The wait is cheap:
nothing of Neutron is loaded, the wanted versions are in two small files of its migrations.
"""

import configparser
import importlib.util
import os
import sys
import time
import urllib.parse
from pathlib import Path

import pymysql

SNIPPETS = Path("/etc/neutron/neutron.conf.d")
MIGRATIONS = "db/migration/alembic_migrations/versions"


def wanted() -> set[str]:
    neutron = importlib.util.find_spec("neutron")
    if neutron is None or neutron.origin is None:
        sys.exit("this image has no Neutron")
    versions = Path(neutron.origin).parent / MIGRATIONS
    return {(versions / name).read_text().strip() for name in ("EXPAND_HEAD", "CONTRACT_HEAD")}


def connection() -> str:
    conf = configparser.RawConfigParser(strict=False)
    conf.read(sorted(SNIPPETS.glob("*.conf")))
    return conf["database"]["connection"]


def deployed(url: str) -> set[str]:
    parts = urllib.parse.urlsplit(url)
    server = pymysql.connect(
        host=parts.hostname,
        port=parts.port or 3306,
        user=urllib.parse.unquote(parts.username or ""),
        password=urllib.parse.unquote(parts.password or ""),
        database=parts.path.lstrip("/"),
        connect_timeout=5,
        read_timeout=10,
    )
    with server, server.cursor() as cursor:
        cursor.execute("SELECT version_num FROM alembic_version")
        return {row[0] for row in cursor.fetchall()}


def main() -> None:
    url, versions, said = connection(), wanted(), ""
    while True:
        try:
            lack = ", ".join(sorted(versions - deployed(url)))
        except pymysql.MySQLError as error:
            lack = str(error)
        if not lack:
            break
        if lack != said:
            print(f"Waiting for the database's schema: {lack}", flush=True)
            said = lack
        time.sleep(1)
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - the chart says what runs


main()
