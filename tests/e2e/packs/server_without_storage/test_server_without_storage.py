"""The example of a server, on the cloud that `make cloud` creates."""

from __future__ import annotations

from full import FullCloud
from infra import namespace
from vms import Vms


def test_the_example_becomes_a_server_without_storage(full_cloud: FullCloud, vms: Vms) -> None:
    with namespace(full_cloud, full_cloud.stackwright("openrc", "--format", "secret")):
        full_cloud.stackwright("apply", "--file", "examples/server.yaml")
        ready = ("wait", "--for=condition=Ready", "openstackserver/web", "-n", "demo", "--timeout=300s")
        full_cloud.kubectl(*ready, limit=320)
        (made,) = [each for each in vms.sdk.compute.servers(all_projects=True) if each.name == "web"]
        assert made.status == "ACTIVE"
        assert not made.attached_volumes
