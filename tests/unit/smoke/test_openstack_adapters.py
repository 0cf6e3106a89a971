"""The adapters' calls through the real SDK, against the APIs' paths on localhost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackwright.adapters.openstack.transport.client import connect
from stackwright.core.openstack.deployed.agents import Agent
from stackwright.smoke.openstack.projects import ProjectsApi, tenant
from stackwright.smoke.tenant import Boot, CloudError, Flavor, Project, Rule, Server
from tests.unit.smoke.http_cloud import HttpCloud

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::PendingDeprecationWarning", "ignore::ResourceWarning"
)
AUTH = {
    "username": "admin", "password": "pw", "project_name": "admin", "user_domain_name": "Default",
    "project_domain_name": "Default",
}  # fmt: skip


@pytest.fixture
def cloud() -> Iterator[HttpCloud]:
    made = HttpCloud()
    yield made
    made.close()


def admin(cloud: HttpCloud) -> Any:
    return connect({**AUTH, "auth_url": f"{cloud.url}/identity/v3"}, "RegionOne")


def projects(cloud: HttpCloud) -> ProjectsApi:
    access: Any = SimpleNamespace(
        auth=AUTH, auth_url=f"{cloud.url}/identity/v3", region="RegionOne", services=frozenset()
    )
    return ProjectsApi(admin(cloud), access, "")


def test_a_project_from_its_beginning_to_its_end(cloud: HttpCloud, tmp_path: Path) -> None:
    (tmp_path / "disk").write_bytes(b"disk")
    external = cloud.put("networks", {"name": "public", "router:external": True, "project_id": "x"})["id"]
    api = projects(cloud)
    project = api.create("smoke-1", "note")
    assert api.named("smoke-") == [Project(project.id, "smoke-1", "note")]
    user = api.enter(project)
    computing, networking = user.computing, user.networking

    network, subnet = networking.network("smoke-1", "192.168.213.0/24")
    assert networking.network("smoke-1", "192.168.213.0/24") == (network, subnet)
    group = networking.group("smoke-1", [Rule("icmp"), Rule("tcp", 22)])
    port = networking.port("smoke-1", network, group)
    assert port.address == "192.168.213.5"
    assert networking.external() == external
    router = networking.router("smoke-1", external, subnet)
    assert networking.router("smoke-1", external, subnet) == router
    assert networking.floating(port.id, external) == networking.floating(port.id, external) == "172.24.4.77"

    assert computing.image("guest") is None
    image = computing.upload("guest", tmp_path / "disk", public=False)
    assert computing.image("guest") == image
    flavor = tenant(admin(cloud)).computing.flavor(Flavor("smoke-1-tiny", 1, 128, 1))
    assert computing.keypair("smoke-1", "ssh-ed25519 AAA")
    assert computing.keypair("smoke-1", "ssh-ed25519 AAA with a comment")
    assert not computing.keypair("smoke-1", "ssh-ed25519 BBB")
    assert cloud.kept["os-keypairs"]["smoke-1"]["public_key"] == "ssh-ed25519 AAA"
    server = computing.boot(Boot("smoke-1", image, flavor, "smoke-1", port.id))
    assert computing.boot(Boot("smoke-1", image, flavor, "smoke-1", port.id)).id == server.id
    sent = cloud.kept["servers"][server.id]
    assert computing.find("smoke-1") == Server(server.id, "ACTIVE", host="node1", key="smoke-1")
    assert (sent["imageRef"], sent["flavorRef"], sent["networks"]) == (image, flavor, [{"port": port.id}])

    left = [thing.kind for thing in api.leftovers(project)]
    assert left == ["server", "keypair", "flavor", "floating IP", "router", "port", "network", "security group",
                    "image", "user", "project"]  # fmt: skip
    for thing in api.leftovers(project):
        api.delete(thing)
    assert [thing.kind for thing in api.leftovers(project)] == ["project"]
    assert not cloud.kept["projects"].keys() - {cloud.admin_project}
    assert f"POST /network/v2.0/routers/{router}/add_router_interface" not in cloud.calls  # the SDK puts
    assert cloud.calls.count(f"PUT /network/v2.0/routers/{router}/add_router_interface") == 1


def test_actions_of_a_server(cloud: HttpCloud) -> None:
    computing = tenant(admin(cloud)).computing
    server = computing.boot(Boot("demo", "i", "f", "k", "p"))
    assert computing.log(server.id) == "hello"
    assert computing.console(server.id).startswith("https://novncproxy.x/")
    computing.reboot(server.id)
    computing.resize(server.id, "larger")
    found = computing.server(server.id)
    assert found
    assert (found.status, found.host) == ("VERIFY_RESIZE", "node1")
    computing.confirm(server.id)
    computing.start(server.id)
    assert [body for body in cloud.bodies if body[0] != "os-getConsoleOutput"] == [
        ("remote_console", {"protocol": "vnc", "type": "novnc"}),
        ("reboot", {"type": "SOFT"}),
        ("resize", {"flavorRef": "larger"}),
        ("confirmResize", None),
        ("os-start", None),
    ]
    computing.delete(server.id)
    assert computing.server(server.id) is None


def test_a_rule_is_removed_and_restored(cloud: HttpCloud) -> None:
    networking = tenant(admin(cloud)).networking
    group = networking.group("g", [Rule("icmp"), Rule("tcp", 22)])
    networking.allow(group, Rule("tcp", 22))
    assert len(cloud.kept["security-group-rules"]) == 2
    networking.forbid(group, Rule("icmp"))
    assert [rule["protocol"] for rule in cloud.kept["security-group-rules"].values()] == ["tcp"]


def test_which_service_reports(cloud: HttpCloud) -> None:
    cloud.put("agents", {"agent_type": "L3 agent", "host": "node1", "alive": False, "admin_state_up": True})
    cloud.put("os-services", {"binary": "nova-compute", "host": "node1", "state": "up", "status": "enabled"})
    there = tenant(admin(cloud))
    assert there.networking.agents() == [Agent("L3 agent", "node1", False)]
    assert there.computing.services() == [Agent("nova-compute", "node1", True)]


def test_the_reason_why_a_port_is_not_wired(cloud: HttpCloud) -> None:
    networking = tenant(admin(cloud)).networking
    port = cloud.put("ports", {"status": "DOWN", "binding:host_id": ""})
    address = cloud.put("floatingips", {"port_id": port["id"], "status": "DOWN"})
    assert networking.unwired(port["id"]) == "its port not on a node yet is DOWN"
    port["binding:host_id"] = "node1"
    assert networking.unwired(port["id"]) == "its port on node1 is DOWN"
    port["status"] = "ACTIVE"
    assert networking.unwired(port["id"]) == "its floating IP is DOWN"
    address["status"] = "ACTIVE"
    assert networking.unwired(port["id"]) is None


def test_errors_are_reported_in_a_sentence(cloud: HttpCloud) -> None:
    with pytest.raises(CloudError, match="confirm: HTTP 404: ") as raised:
        cloud._act = lambda server, body: (404, {"itemNotFound": {"message": "no such server"}})  # type: ignore
        tenant(admin(cloud)).computing.confirm("nobody")
    assert raised.value.passing
    closed = connect({**AUTH, "auth_url": "http://127.0.0.1:1/v3"}, "RegionOne")
    with pytest.raises(CloudError) as raised:
        tenant(closed).computing.services()
    assert raised.value.passing
    assert "pw" not in str(raised.value)
