"""Requests to PowerDNS that Designate's driver lacks: `install()`, in a worker before it starts.

The driver changes a zone by a NOTIFY, which anybody can forge and PowerDNS therefore refuses: a worker has no address that
PowerDNS could know. Here, a worker requests the transfer of a changed zone by PowerDNS' API, which needs the key. And a
request that is not answered ends, instead of occupying a thread of the worker for ever.
"""

from functools import partial
from types import SimpleNamespace

import requests
from designate import exceptions
from designate.backend import impl_pdns4

SECONDS = 10


def install():
    driver = impl_pdns4.PDNS4Backend
    create = driver.create_zone
    limited = {name: partial(getattr(requests, name), timeout=SECONDS) for name in ("get", "post", "put", "delete")}
    impl_pdns4.requests = SimpleNamespace(**limited, HTTPError=requests.HTTPError)

    def transfer(self, _context, zone):
        answer = impl_pdns4.requests.put(f"{self._build_url(zone.name)}/axfr-retrieve", headers=self.headers)
        if not answer.ok:
            raise exceptions.Backend(f"PowerDNS does not transfer {zone.name}: {answer.status_code} {answer.reason}")

    def create_and_transfer(self, context, zone):
        create(self, context, zone)
        transfer(self, context, zone)

    driver.create_zone, driver.update_zone = create_and_transfer, transfer
