"""Deletes records of services without a heartbeat for HOURS that are not in HOSTS: service-cleaner.py HOURS HOST...

HOSTS are the hosts of the expected pods. A service outside a cluster is kept while it has volumes, because a volume
belongs to the host that created it.
"""

import datetime
import sys

from cinder import context, objects, version
from cinder import db as cinder_db
from oslo_config import cfg
from oslo_log import log as logging

CONF = cfg.CONF


def main(hours: int, hosts: list[str]) -> None:
    objects.register_all()
    CONF([], project="cinder", version=version.version_string())
    logging.setup(CONF, "cinder")
    ctxt = context.get_admin_context()
    limit = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=hours)
    for service in objects.ServiceList.get_all(ctxt):
        seen = service.updated_at or service.created_at
        if service.host.partition("@")[0] in hosts or seen > limit:
            continue
        if not service.cluster_name and cinder_db.volume_get_all_by_host(ctxt, service.host):
            print(f"{service.binary} on {service.host}, last seen {seen}: has volumes", flush=True)
            continue
        service.destroy()
        print(f"{service.binary} on {service.host}, last seen {seen}: forgotten", flush=True)


main(int(sys.argv[1]), sys.argv[2:])
