"""Secrets by openstacksdk: smoke.tenant.KeyManager."""

from __future__ import annotations

from stackwright.smoke.openstack.api import Api
from stackwright.smoke.openstack.errors import explained
from stackwright.smoke.tenant import Order

PLAIN = "text/plain"
KEY = {"algorithm": "aes", "bit_length": 256, "mode": "cbc"}


@explained
class KeyManagerApi(Api):
    service = "key_manager"

    def store(self, name: str, payload: str) -> str:
        made = self._api.create_secret(name=name, payload=payload, payload_content_type=PLAIN)
        return str(made.secret_id)

    def payload(self, id_: str) -> str:
        return str(self._api.get_secret(id_).payload)

    def order(self, name: str) -> str:
        made = self._api.create_order(type="key", meta={"name": name, **KEY})
        return str(made.order_id)

    def ordered(self, id_: str) -> Order:
        found = self._api.get_order(id_)
        return Order(str(found.status), str(found.secret_id or ""))

    def forget(self, order: str) -> None:
        self._api.delete_order(order)

    def delete(self, id_: str) -> None:
        self._api.delete_secret(id_)
