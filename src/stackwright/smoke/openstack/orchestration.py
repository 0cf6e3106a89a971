"""Stacks by openstacksdk: smoke.tenant.Orchestration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.smoke.openstack.api import Api
from stackwright.smoke.openstack.errors import explained
from stackwright.smoke.tenant import Stack

TIMEOUT = 5  # minutes


@explained
class OrchestrationApi(Api):
    service = "orchestration"

    def create(self, name: str, template: Mapping[str, Any]) -> str:
        found = next((each for each in self._api.stacks(name=name) if each.name == name), None)
        if found is None:
            found = self._api.create_stack(name=name, template=dict(template), timeout_mins=TIMEOUT)
        return str(found.id)

    def stack(self, id_: str) -> Stack | None:
        from openstack.exceptions import NotFoundException

        try:
            found = self._api.get_stack(id_)
        except NotFoundException:
            return None
        outputs = {str(each["output_key"]): str(each.get("output_value") or "") for each in found.outputs or ()}
        return Stack(str(found.id), str(found.status), str(found.status_reason or ""), outputs)

    def delete(self, id_: str) -> None:
        self._api.delete_stack(id_)
