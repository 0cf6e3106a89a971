"""A simulated world with an OpenStack for servers, and actions of users and other clients."""

from __future__ import annotations

from typing import Any

from stackwright.api.infra.server import OpenStackServer
from stackwright.core.conditions import find
from stackwright.core.openstack.resources import CloudResource
from stackwright.core.plan import Object
from tests.scenario.world import NAMESPACE, World

KIND = OpenStackServer.KIND
KEY = (NAMESPACE, "web")
IDENTITY = {"type": "Secret", "name": "clouds", "cloudName": "mine"}
SPEC: Object = {
    "identityRef": IDENTITY,
    "flavor": "small",
    "image": {"filter": {"name": "debian"}},
    "sshKeyName": "me",
    "ports": [{"network": {"filter": {"name": "private"}}, "securityGroups": [{"filter": {"name": "web"}}]}],
}
VOLUMES = {
    "rootVolume": {"sizeGiB": 10},
    "additionalBlockDevices": [
        {"name": "data", "sizeGiB": 5, "storage": {"type": "Volume"}},
        {"name": "scratch", "sizeGiB": 1, "storage": {"type": "Local"}},
    ],
}
WHOLE: Object = {"trunk": True, **VOLUMES}
ALL = ["port web-0", "server web", "trunk web-0", "volume web-data", "volume web-root"]
OURS = ("server", "port", "trunk", "volume")


class Servers(World):
    """A world with an OpenStack that has the resources named in these specs."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        for what, name in (("image", "debian"), ("flavor", "small"), ("network", "private"), ("security-group", "web")):
            self.clouds.put(what, name)

    def server(self, name: str = "web", **spec: Any) -> None:
        before = self.cluster.peek(KIND, (NAMESPACE, name)) or {"metadata": {"name": name, "namespace": NAMESPACE}}
        self.cluster.put(KIND, {**before, "spec": {**SPEC, **spec}})

    def change(self, name: str = "web", **spec: Any) -> None:
        """Change fields of the spec."""
        obj = self.get(name)
        self.cluster.put(KIND, {**obj, "spec": {**obj["spec"], **spec}})

    def get(self, name: str = "web") -> Object:
        return self.cluster.peek(KIND, (NAMESPACE, name)) or {}

    @property
    def status(self) -> Object:
        return dict(self.get().get("status") or {})

    def told(self, type_: str = "Ready") -> tuple[str, str]:
        entry = find(self.get(), type_) or {}
        return str(entry.get("reason")), str(entry.get("message"))

    def there(self) -> list[str]:
        """Our resources in the cloud, by type and name."""
        return sorted(f"{t.type} {t.name}" for t in self.clouds.all() if t.type in OURS)

    def one(self, what: str) -> CloudResource:
        (found,) = [thing for thing in self.clouds.all(what) if thing.mark]
        return found

    async def ready(self) -> None:
        await self.settle(patience=20)
        assert self.status["ready"], self.told()


async def deleted_unheard(number: int) -> Servers:
    """A server with its volumes, deleted by a user when the response of the n-th request has been lost."""
    world = Servers()
    world.clouds.lost = number
    world.server(**WHOLE)
    while len(world.clouds.calls) < number:
        await world.run(0.2)
    world.delete(KIND, "web")
    return world


async def made(**spec: Any) -> Servers:
    world = Servers()
    world.server(**spec)
    await world.ready()
    return world
