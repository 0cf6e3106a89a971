"""Waits until the database has the schema of this image's Neutron, and for OVN's databases, then runs a program.

A server that starts earlier ends with an error, and Kubernetes restarts it with a growing delay. The required versions
are in two small files of Neutron's migrations.
"""

import importlib.util
import os
import sys
from pathlib import Path

import ovn
import restore
import schema

SNIPPETS = Path("/etc/neutron/neutron.conf.d")
PLUGIN = Path("/etc/neutron/plugins/ml2/ml2_conf.ini")
STARTED = Path("/tmp/started")  # noqa: S108 - the pod's own /tmp, which outlives the container; a probe of workers asks for it
MIGRATIONS = "db/migration/alembic_migrations/versions"


def wanted() -> set[str]:
    neutron = importlib.util.find_spec("neutron")
    if neutron is None or neutron.origin is None:
        sys.exit("this image has no Neutron")
    folder = Path(neutron.origin).parent / MIGRATIONS
    return {(folder / name).read_text().strip() for name in ("EXPAND_HEAD", "CONTRACT_HEAD")}


def main() -> None:
    STARTED.unlink(missing_ok=True)
    url, needed = schema.connection_of(SNIPPETS), wanted()

    def missing() -> str:
        with schema.connect(url) as server, server.cursor() as cursor:
            return ", ".join(sorted(needed - schema.versions(cursor)))

    schema.wait(missing, "the database's schema")
    options = ovn.options_of(PLUGIN)
    os.environ |= ovn.variables(options)
    if options and "ovn-maintenance" in sys.argv[1]:
        restore.restore(options, url, sys.argv[2:])
    STARTED.touch()
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - the chart sets the program


main()
