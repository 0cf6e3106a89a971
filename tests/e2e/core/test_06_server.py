"""The example of a server is created as specified, and deleted without remains."""

from __future__ import annotations

from infra import Infra
from servers import KIND, gone


def test_the_example_becomes_a_server_with_port_trunk_and_disks(infra: Infra) -> None:
    plan = infra.cloud.stackwright("plan", "--file", "examples/server-volumes.yaml", code=2)
    assert "server web in cloud stackwright" in plan
    infra.cloud.stackwright("apply", "--file", "examples/server-volumes.yaml")
    print(f"ready after {infra.ready(KIND, 'web'):.0f} s")
    status = infra.status(KIND, "web")
    made = infra.sdk.compute.get_server(status["instanceID"])
    assert (made.status, made.metadata["from"]) == ("ACTIVE", "example")
    (port,) = infra.sdk.network.ports(device_id=made.id)
    assert port.id == status["resources"]["ports"][0]["id"]
    assert "example" in port.tags
    assert {each["name"] for each in status["resources"]["volumes"]} == {"root", "data"}
    assert len(made.attached_volumes) == 2
    shown = infra.cloud.stackwright("servers", "-n", "demo")
    for part in ("✓ OpenStackServer demo/web", "ACTIVE", port.fixed_ips[0]["ip_address"], "trunk web-0", "volume root"):
        assert part in shown
    gone(infra, "web")
