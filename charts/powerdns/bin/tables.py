"""Creates the tables of PowerDNS in an empty database, by the statements that its package has."""

from pathlib import Path

import migrate
import schema

STATEMENTS = Path("/usr/share/powerdns/schema.mysql.sql")


def main(url):
    with migrate.marked(url) as first:
        if first:
            with schema.connect(url) as server, server.cursor() as cursor:
                for statement in STATEMENTS.read_text(encoding="utf-8").split(";"):
                    if statement.strip():
                        cursor.execute(statement)


if __name__ == "__main__":
    main(schema.connection_of(Path("/etc/powerdns")))
