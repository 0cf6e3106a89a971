"""OpenStackServers in the real cloud: made of an example, watched, lost, changed by others, gone without a trace."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from full import FullCloud
from harness import ROOT, eventually
from storage import Storage

NAMESPACE = "demo"
EXAMPLE = ROOT / "examples/server.yaml"
KIND = "openstackserver"


class Servers:
    """As a user has them, by kubectl, and as the cloud has them."""

    def __init__(self, cloud: FullCloud, storage: Storage) -> None:
        self.cloud, self.sdk = cloud, storage.sdk
        self._example: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())

    def kubectl(self, *words: str, **more: Any) -> str:
        return self.cloud.kubectl("-n", NAMESPACE, *words, **more)

    def make(self, name: str = "web", **spec: Any) -> None:
        """As the example, with these changes; without what is None."""
        meta = {"name": name, "namespace": NAMESPACE}
        wanted = {field: value for field, value in {**self._example["spec"], **spec}.items() if value is not None}
        self.cloud.apply({**self._example, "metadata": meta, "spec": wanted})

    def get(self, name: str = "web") -> dict[str, Any]:
        return dict(json.loads(self.kubectl("get", KIND, name, "-o", "json")))

    def status(self, name: str = "web") -> dict[str, Any]:
        return dict(self.get(name).get("status") or {})

    def ready(self, name: str = "web", limit: float = 240) -> float:
        return eventually(lambda: self.status(name)["ready"] is True, limit=limit, pause=1)

    def told(self, name: str = "web") -> str:
        return next(str(c["reason"]) for c in self.status(name)["conditions"] if c["type"] == "Ready")

    def gone(self, name: str = "web") -> None:
        """With all that it recorded."""
        status = self.status(name)
        had = {entry["id"] for entries in (status.get("resources") or {}).values() for entry in entries}
        had.add(status.get("instanceID"))
        self.kubectl("delete", KIND, name, "--wait=true", limit=240)
        eventually(lambda: not had & {id_ for _, id_ in self.there()}, limit=30, pause=1)

    def only(self, things: set[tuple[str, str]]) -> None:
        """Nothing else is there. Nova lists a server for a moment that it calls DELETED."""
        eventually(lambda: self.there() == things, limit=30, pause=1)

    def there(self) -> set[tuple[str, str]]:
        """Everything that the project has."""
        compute, net, blocks = self.sdk.compute, self.sdk.network, self.sdk.block_storage
        found = {("server", each.id) for each in compute.servers()}
        found |= {("port", each.id) for each in net.ports() if not each.device_owner.startswith("network:")}
        found |= {("trunk", each.id) for each in net.trunks()} | {("ip", each.id) for each in net.ips()}
        return found | {("volume", each.id) for each in blocks.volumes()}


@pytest.fixture(scope="module")
def servers(storage_cloud: FullCloud, storage: Storage) -> Iterator[Servers]:
    storage_cloud.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", limit=300)  # of a run that was killed
    storage_cloud.kubectl("create", "namespace", NAMESPACE)
    secret = storage_cloud.stackwright("openrc", "--format", "secret")
    storage_cloud.kubectl("apply", "-n", NAMESPACE, "-f", "-", stdin=secret)
    made = Servers(storage_cloud, storage)
    before = made.there()
    yield made
    made.kubectl("delete", KIND, "--all", limit=300)
    made.only(before)
    storage_cloud.kubectl("delete", "namespace", NAMESPACE, limit=120)


def test_the_example_becomes_a_server_with_port_trunk_and_disks(servers: Servers) -> None:
    plan = servers.cloud.stackwright("plan", "--file", "examples/server.yaml", code=2)
    assert "server web in cloud stackwright" in plan
    servers.cloud.stackwright("apply", "--file", "examples/server.yaml")
    print(f"ready after {servers.ready():.0f} s")
    status = servers.status()
    server = servers.sdk.compute.get_server(status["instanceID"])
    assert (server.status, server.metadata["from"]) == ("ACTIVE", "example")
    (port,) = servers.sdk.network.ports(device_id=server.id)
    assert port.id == status["resources"]["ports"][0]["id"]
    assert "example" in port.tags
    assert {each["name"] for each in status["resources"]["volumes"]} == {"root", "data"}
    assert len(server.attached_volumes) == 2
    shown = servers.cloud.stackwright("servers", "-n", NAMESPACE)
    for part in ("✓ OpenStackServer demo/web", "ACTIVE", port.fixed_ips[0]["ip_address"], "trunk web-0", "volume root"):
        assert part in shown


def test_what_somebody_changed_is_set_back(servers: Servers) -> None:
    (port,) = servers.status()["resources"]["ports"]
    servers.sdk.network.update_port(port["id"], name="renamed")
    took = eventually(lambda: servers.sdk.network.get_port(port["id"]).name == "web-0", limit=300, pause=2)
    print(f"a port's name is set back after {took:.0f} s")


def test_a_server_that_somebody_deleted_is_told_and_made_anew_if_the_policy_says_so(servers: Servers) -> None:
    servers.make()
    servers.make("kept", recreatePolicy="Never", trunk=False, rootVolume=None, additionalBlockDevices=None)
    servers.ready()
    servers.ready("kept")
    before, kept = servers.status()["instanceID"], servers.status("kept")["instanceID"]
    for each in (before, kept):
        servers.sdk.compute.delete_server(each)
    told = eventually(lambda: servers.told("kept") == "BlockedInstanceNotFound", limit=180, pause=1)
    eventually(lambda: servers.status()["instanceID"] not in ("", before), limit=180, pause=1)
    print(f"told after {told:.0f} s, made anew after {servers.ready():.0f} s more")
    assert servers.status("kept")["ready"] is False
    servers.gone("kept")


def test_credentials_that_are_refused_are_told_and_mended(servers: Servers) -> None:
    servers.make("late", identityRef={"name": "other-clouds", "cloudName": "stackwright"}, rootVolume=None)
    eventually(lambda: servers.told("late") == "CredentialsMissing", limit=60)
    secret = yaml.safe_load(servers.cloud.stackwright("openrc", "--format", "secret"))
    secret["metadata"]["name"] = "other-clouds"
    right = secret["stringData"]["clouds.yaml"]
    clouds = yaml.safe_load(right)
    clouds["clouds"]["stackwright"]["auth"]["password"] = "not-it"
    secret["stringData"]["clouds.yaml"] = yaml.safe_dump(clouds)
    servers.cloud.kubectl("apply", "-n", NAMESPACE, "-f", "-", stdin=yaml.safe_dump(secret))
    eventually(lambda: servers.told("late") == "AuthenticationFailed", limit=90)
    secret["stringData"]["clouds.yaml"] = right
    servers.cloud.kubectl("apply", "-n", NAMESPACE, "-f", "-", stdin=yaml.safe_dump(secret))
    servers.ready("late")
    servers.gone("late")


@pytest.mark.parametrize("seconds", [0, 2, 6, 12])
def test_what_is_deleted_half_made_leaves_nothing(servers: Servers, seconds: int) -> None:
    before = servers.there()
    servers.make("brief")
    time.sleep(seconds)
    servers.gone("brief")
    servers.only(before)


def test_the_operator_that_is_killed_makes_nothing_twice(servers: Servers) -> None:
    before = servers.there()
    servers.make("killed")
    for _ in range(3):
        time.sleep(1.5)
        servers.cloud.kubectl("delete", "pod", "-n", "stackwright", "-l", "application=stackwright", "--force")
    servers.ready("killed")
    status = servers.status("killed")
    made = servers.there() - before
    assert sorted(what for what, _ in made) == ["port", "server", "trunk", "volume", "volume"]
    assert ("server", status["instanceID"]) in made
    servers.gone("killed")
    servers.only(before)
