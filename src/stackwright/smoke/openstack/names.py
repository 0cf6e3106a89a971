"""Zones and recordsets by openstacksdk: smoke.tenant.Names."""

from __future__ import annotations

from stackwright.smoke.openstack.api import Api
from stackwright.smoke.openstack.errors import explained

SECONDS = 60  # how long resolvers may keep a record


@explained
class NamesApi(Api):
    service = "dns"

    def create(self, name: str) -> str:
        made = self._api.create_zone(name=name, email=f"hostmaster@{name.rstrip('.')}")
        return str(made.id)

    def add(self, zone: str, name: str, address: str) -> str:
        made = self._api.create_recordset(zone, name=name, type="A", records=[address], ttl=SECONDS)
        return str(made.id)

    def state(self, zone: str, recordset: str = "") -> str | None:
        from openstack.exceptions import NotFoundException

        try:
            found = self._api.get_recordset(recordset, zone) if recordset else self._api.get_zone(zone)
        except NotFoundException:
            return None
        return str(found.status)

    def delete(self, zone: str) -> None:
        self._api.delete_zone(zone)
