"""Migrates Nova's databases to the version of this image and records the cells in the API database, in one process.

The Job may be killed and repeated at any point of a first migration. The records of the cells are templates that
each process fills in from its own configuration, so no database contains a password.
"""

import sys

import nova.monkey_patch  # noqa: F401 - first: it patches what others import
import migrate
import sqlalchemy
from nova import config, context, objects
from nova.cmd import manage
from nova.conf import CONF
from oslo_log import log as logging
from oslo_utils import uuidutils

ACCOUNT = "{scheme}://{username}:{password}@{hostname}:{port}"
CELLS = {
    "cell0": ("none:///", f"{ACCOUNT}/nova_cell0?{{query}}"),
    "cell1": (f"{ACCOUNT}/{{path}}?{{query}}", f"{ACCOUNT}/{{path}}?{{query}}"),
}


def record_cell(name: str) -> None:
    """Creates the cell's record or resets it to the template."""
    transport_url, database = CELLS[name]
    ctxt = context.get_admin_context()
    found = [cell for cell in objects.CellMappingList.get_all(ctxt) if cell.name == name]
    cell = found[0] if found else objects.CellMapping(ctxt, name=name)
    cell.transport_url, cell.database_connection = transport_url, database
    if found:
        cell.save()
        return
    cell.uuid = objects.CellMapping.CELL0_UUID if name == "cell0" else uuidutils.generate_uuid()
    cell.create()


def cell0() -> str:
    """The URL of the database of cell0."""
    url = sqlalchemy.engine.make_url(CONF.database.connection)
    return url.set(database="nova_cell0").render_as_string(hide_password=False)


def step(what: str, result: int | None) -> None:
    print(f"{what}: done", flush=True)
    if result:
        sys.exit(f"{what}: failed with {result}")


def main() -> None:
    config.parse_args(["nova-manage"])
    logging.setup(CONF, "nova")
    objects.register_all()

    with migrate.marked(CONF.api_database.connection):
        step("API database", manage.ApiDbCommands().sync())
    record_cell("cell0")  # before the next step, which migrates cell0's database too
    with migrate.marked(CONF.database.connection) as first, migrate.marked(cell0()):
        step("databases of the cells", manage.DbCommands().sync())
        if not first:
            step("data of an earlier version", manage.DbCommands().online_data_migrations())
    record_cell("cell1")  # last, because the other processes wait for it
    print("cells: done", flush=True)


main()
