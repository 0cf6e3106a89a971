"""Forgets conductors and schedulers that are gone for good: service-cleaner.py HOURS HOST...

A service goes when nobody heard of it for HOURS and it is none of the HOSTs, the pods that there should be: a pod that
only lost its way to the database would not make another record in place of one that is taken away. Compute services
stay, whatever became of them: virtual machines and the capacity of their hosts hang on them.
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
