"""Zones and recordsets by openstacksdk: smoke.tenant.Names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openstack.exceptions import NotFoundException

from stackwright.smoke.openstack.errors import explained

if TYPE_CHECKING:
    from openstack.connection import Connection

SECONDS = 60  # how long resolvers may keep a record


@explained
class NamesApi:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def _api(self) -> Any:
        return self._connection.dns

    def create(self, name: str) -> str:
        made = self._api.create_zone(name=name, email=f"hostmaster@{name.rstrip('.')}")
        return str(made.id)

    def add(self, zone: str, name: str, address: str) -> str:
        made = self._api.create_recordset(zone, name=name, type="A", records=[address], ttl=SECONDS)
        return str(made.id)

    def state(self, zone: str, recordset: str = "") -> str | None:
        try:
            found = self._api.get_recordset(recordset, zone) if recordset else self._api.get_zone(zone)
        except NotFoundException:
            return None
        return str(found.status)

    def delete(self, zone: str) -> None:
        self._api.delete_zone(zone)
