"""OpenStackServers in the real cloud: deleted by others, detached."""

from __future__ import annotations

from harness import eventually
from infra import Infra
from servers import BARE, KIND, gone, server


def test_a_server_deleted_by_others_is_reported_and_recreated_if_the_policy_permits(infra: Infra) -> None:
    infra.cloud.stackwright("apply", "--file", "examples/server-volumes.yaml")
    infra.cloud.apply(server("kept", recreatePolicy="Never", **BARE))
    for name in ("kept", "web"):
        infra.ready(KIND, name)
    before, kept = infra.status(KIND, "web")["instanceID"], infra.status(KIND, "kept")["instanceID"]
    for each in (before, kept):
        infra.sdk.compute.delete_server(each)
    told = eventually(lambda: infra.told(KIND, "kept") == "BlockedInstanceNotFound", limit=180, pause=1)
    eventually(lambda: infra.status(KIND, "web")["instanceID"] not in ("", before), limit=180, pause=1)
    print(f"told after {told:.0f} s, made anew after {infra.ready(KIND, 'web'):.0f} s more")
    assert infra.status(KIND, "kept")["ready"] is False
    gone(infra, "kept")


def test_a_resource_detached_by_others_is_attached_again(infra: Infra) -> None:
    infra.cloud.apply(server("loose", trunk=False, rootVolume=None))
    infra.ready(KIND, "loose")
    status, compute = infra.status(KIND, "loose"), infra.sdk.compute
    id_, (volume,), (port,) = (status["instanceID"], status["resources"]["volumes"], status["resources"]["ports"])
    compute.delete_volume_attachment(id_, volume["id"])
    compute.delete_server_interface(port["id"], server=id_)

    def whole() -> bool:
        volumes = {each.volume_id for each in compute.volume_attachments(id_)}
        return (volumes, {each.port_id for each in compute.server_interfaces(id_)}) == ({volume["id"]}, {port["id"]})

    eventually(lambda: not whole(), limit=30, pause=0.5)
    took = eventually(whole, limit=300, pause=1)
    print(f"attached again after {took:.0f} s, ready {infra.ready(KIND, 'loose'):.0f} s later")
    gone(infra, "loose")
