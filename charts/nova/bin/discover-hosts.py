"""Waits until each compute host in the arguments has registered itself, and maps it in the API database.

A host without a mapping gets no virtual machines. Hosts that are already mapped need not be registered.
"""

import sys
import time

import nova.monkey_patch  # noqa: F401 - first: it patches what others import
from nova import config, context, exception, objects
from nova.conf import CONF
from nova.objects import host_mapping
from oslo_db import exception as db_exception
from oslo_log import log as logging

PAUSE = 2


def known(ctxt: context.RequestContext, host: str) -> bool:
    try:
        objects.HostMapping.get_by_host(ctxt, host)
    except exception.HostMappingNotFound:
        return False
    return True


def main(hosts: list[str]) -> None:
    config.parse_args(["discover-hosts"])
    logging.setup(CONF, "nova")
    objects.register_all()
    ctxt = context.get_admin_context()
    waiting: list[str] = []
    while True:
        try:
            host_mapping.discover_hosts(ctxt, by_service=True)
            lacking = [host for host in hosts if not known(ctxt, host)]
        except db_exception.DBError as error:
            print(f"The database does not answer: {error}", flush=True)
            lacking = hosts
        if not lacking:
            break
        if lacking != waiting:
            print(f"Waiting for {', '.join(lacking)}", flush=True)
            waiting = lacking
        time.sleep(PAUSE)
    print(f"Known: {', '.join(hosts)}", flush=True)


main(sys.argv[1:])
