"""Deletes records of conductors and schedulers without a heartbeat for HOURS that are not in HOSTS.

    service-cleaner.py HOURS HOST...

HOSTS are the hosts of the expected pods. Their records are kept, because a running pod that only lost its connection to
the database would not create a new one. Records of compute services are always kept, because virtual machines and
resource providers depend on them.
"""

import datetime
import sys

import nova.monkey_patch  # noqa: F401 - first: it patches what others import
from nova import config, context, objects
from nova.conf import CONF
from nova.db.main import api as main_db
from oslo_log import log as logging

BINARIES = ("nova-conductor", "nova-scheduler")


def main(hours: int, hosts: list[str]) -> None:
    config.parse_args(["nova-manage"])
    logging.setup(CONF, "nova")
    objects.register_all()

    ctxt = context.get_admin_context()
    limit = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=hours)
    for cell in objects.CellMappingList.get_all(ctxt):
        with context.target_cell(ctxt, cell) as cctxt:
            for binary in BINARIES:
                for service in objects.ServiceList.get_by_binary(cctxt, binary, include_disabled=True):
                    seen = service.last_seen_up or service.created_at
                    if service.host in hosts or seen > limit:
                        continue
                    main_db.service_destroy(cctxt, service.id)
                    print(f"{cell.name}: {binary} on {service.host}, last seen {seen}: forgotten", flush=True)


main(int(sys.argv[1]), sys.argv[2:])
