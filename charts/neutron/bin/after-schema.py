"""Waits until the database has the schema of this image's Neutron, and for OVN's databases, then runs a program.

    after-schema.py [--restore] <program> <its arguments>…

With --restore, it first restores lost networks in OVN (restore.py). When the program begins, the file `started` exists.

A server that starts earlier ends with an error, and Kubernetes restarts it with a growing delay. The required versions
are in two small files of Neutron's migrations.
"""

import os
from pathlib import Path

STARTED = Path("/tmp/started")  # noqa: S108 - the pod's own /tmp, which outlives the container; a probe asks for it
STARTED.unlink(missing_ok=True)  # before the imports take their time

import importlib.util  # noqa: E402
import sys  # noqa: E402

import ovn  # noqa: E402
import restore  # noqa: E402
import schema  # noqa: E402

SNIPPETS = Path("/etc/neutron/neutron.conf.d")
PLUGIN = Path("/etc/neutron/plugins/ml2/ml2_conf.ini")
RESTORE = "--restore"
MIGRATIONS = "db/migration/alembic_migrations/versions"


def wanted() -> set[str]:
    neutron = importlib.util.find_spec("neutron")
    if neutron is None or neutron.origin is None:
        sys.exit("this image has no Neutron")
    folder = Path(neutron.origin).parent / MIGRATIONS
    return {(folder / name).read_text().strip() for name in ("EXPAND_HEAD", "CONTRACT_HEAD")}


def main() -> None:
    url, needed = schema.connection_of(SNIPPETS), wanted()

    def missing() -> str:
        with schema.connect(url) as server, server.cursor() as cursor:
            return ", ".join(sorted(needed - schema.versions(cursor)))

    schema.wait(missing, "the database's schema")
    options, restores = ovn.options_of(PLUGIN), sys.argv[1] == RESTORE
    program, *arguments = sys.argv[2:] if restores else sys.argv[1:]
    os.environ |= ovn.variables(options)
    if restores and options:
        restore.restore(options, url, arguments)
    STARTED.touch()
    os.execvp(program, [program, *arguments])  # noqa: S606 - the chart sets the program


main()
