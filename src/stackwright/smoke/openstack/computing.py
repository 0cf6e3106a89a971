"""Images, flavors, key pairs and servers by openstacksdk: smoke.tenant.Computing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackwright.core.openstack.deployed.agents import Agent
from stackwright.smoke.openstack.api import Api
from stackwright.smoke.openstack.errors import explained
from stackwright.smoke.tenant import Boot, Flavor, Server

UPLOAD_LIMIT = 300
# A virtual random number device: without it, a guest needs a second to collect entropy for its keys.
PROPERTIES = {"hw_rng_model": "virtio", "os_type": "linux"}


@explained
class ComputingApi(Api):
    service = "compute"

    @property
    def _images(self) -> Any:
        return self._connection.image

    def image(self, name: str) -> str | None:
        return next((str(found.id) for found in self._images.images(name=name, status="active")), None)

    def upload(self, name: str, file: Path, *, public: bool) -> str:
        for half in self._images.images(name=name, owner=self._connection.current_project_id):
            self._images.delete_image(half)  # remains of a killed upload
        made = self._images.create_image(
            name,
            filename=str(file),
            disk_format="qcow2",
            container_format="bare",
            visibility="public" if public else "private",
            allow_duplicates=True,
            wait=True,
            timeout=UPLOAD_LIMIT,
            **PROPERTIES,
        )
        return str(made.id)

    def flavor(self, wanted: Flavor) -> str:
        found = next((each for each in self._api.flavors() if each.name == wanted.name), None)
        if found is None:
            found = self._api.create_flavor(name=wanted.name, vcpus=wanted.cpus, ram=wanted.memory, disk=wanted.disk)
        return str(found.id)

    def keypair(self, name: str, public_key: str) -> bool:
        found = self._api.find_keypair(name)
        if found is None:
            self._api.create_keypair(name=name, public_key=public_key, type="ssh")
        return found is None or found.public_key.split()[:2] == public_key.split()[:2]

    def find(self, name: str) -> Server | None:
        """The server of this name. Nova treats the name as a pattern, so the result is compared with it."""
        return next((_server(each) for each in self._api.servers(name=f"^{name}$") if each.name == name), None)

    def boot(self, wanted: Boot) -> Server:
        if found := self.find(wanted.name):
            return found
        made = self._api.create_server(
            name=wanted.name,
            image_id=wanted.image,
            flavor_id=wanted.flavor,
            key_name=wanted.key,
            networks=[{"port": wanted.port}],
        )
        return Server(str(made.id), str(made.status or "BUILD"))

    def server(self, id_: str) -> Server | None:
        from openstack.exceptions import NotFoundException

        try:
            return _server(self._api.get_server(id_))
        except NotFoundException:
            return None

    def start(self, id_: str) -> None:
        self._api.start_server(id_)

    def reboot(self, id_: str) -> None:
        self._api.reboot_server(id_, "SOFT")

    def resize(self, id_: str, flavor: str) -> None:
        self._api.resize_server(id_, flavor)

    def confirm(self, id_: str) -> None:
        self._api.confirm_server_resize(id_)

    def delete(self, id_: str) -> None:
        self._api.delete_server(id_)

    def log(self, id_: str) -> str:
        return str(self._api.get_server_console_output(id_).get("output") or "")

    def console(self, id_: str) -> str:
        return str(self._api.create_server_remote_console(id_, protocol="vnc", type="novnc").url)

    def services(self) -> list[Agent]:
        return [
            Agent(str(each.binary), str(each.host), each.state == "up", each.status == "enabled")
            for each in self._api.services()
        ]


def _server(found: Any) -> Server:
    fault = (found.fault or {}).get("message") if isinstance(found.fault, dict) else ""
    host = found.compute_host or ""
    task, key = str(found.task_state or ""), str(found.key_name or "")
    return Server(str(found.id), str(found.status), task, str(fault or ""), str(host), key)
