"""Migrates Nova's databases to the version of this image and records the cells in the API database, in one process.

Each step is idempotent, so the Job may be killed and repeated at any point. The records of the cells are templates that
each process fills in from its own configuration, so no database contains a password.
"""

import sys

import nova.monkey_patch  # noqa: F401 - first: it patches what others import
import half_a_schema
import sqlalchemy
from nova import config, context, objects
from nova.cmd import manage
from nova.conf import CONF
from nova.db.api import api as api_db
from nova.db.main import api as main_db
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


def cell0_engine() -> sqlalchemy.Engine:
    url = sqlalchemy.engine.make_url(CONF.database.connection)
    return sqlalchemy.create_engine(url.set(database="nova_cell0"))


def step(what: str, result: int | None) -> None:
    print(f"{what}: done", flush=True)
    if result:
        sys.exit(f"{what}: failed with {result}")


def main() -> None:
    config.parse_args(["nova-manage"])
    logging.setup(CONF, "nova")
    objects.register_all()

    half_a_schema.forget(api_db.get_engine(), "Nova")
    step("API database", manage.ApiDbCommands().sync())
    record_cell("cell0")  # before the next step, which migrates cell0's database too
    old = half_a_schema.forget(main_db.get_engine(), "Nova")
    half_a_schema.forget(cell0_engine(), "Nova")
    step("databases of the cells", manage.DbCommands().sync())
    if old:
        step("data of an earlier version", manage.DbCommands().online_data_migrations())
    record_cell("cell1")  # last, because the other processes wait for it
    print("cells: done", flush=True)


main()
