"""OpenStackServers in the real cloud: deleted by others, detached, refused, addressed."""

from __future__ import annotations

import yaml
from harness import eventually
from infra import Infra
from servers import BARE, KIND, gone, server

POOLS = "openstackfloatingippools"
CRDS = ("ipaddressclaims.ipam.cluster.x-k8s.io", "ipaddresses.ipam.cluster.x-k8s.io")


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


def test_rejected_credentials_are_reported_and_can_be_replaced(infra: Infra) -> None:
    infra.cloud.apply(server("late", identityRef={"name": "other-clouds", "cloudName": "stackwright"}, **BARE))
    eventually(lambda: infra.told(KIND, "late") == "CredentialsMissing", limit=60)
    secret = yaml.safe_load(infra.cloud.stackwright("openrc", "--format", "secret"))
    secret["metadata"]["name"] = "other-clouds"
    right = secret["stringData"]["clouds.yaml"]
    clouds = yaml.safe_load(right)
    clouds["clouds"]["stackwright"]["auth"]["password"] = "not-it"
    secret["stringData"]["clouds.yaml"] = yaml.safe_dump(clouds)
    infra.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(secret))
    eventually(lambda: infra.told(KIND, "late") == "AuthenticationFailed", limit=90)
    secret["stringData"]["clouds.yaml"] = right
    infra.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(secret))
    infra.ready(KIND, "late")
    gone(infra, "late")


def test_a_server_gets_an_address_of_a_pool_and_returns_it(infra: Infra) -> None:
    before = infra.there()
    infra.cloud.kubectl("apply", "-f", "-", stdin=infra.cloud.stackwright("crds", "--ipam"))
    try:
        infra.cloud.stackwright("apply", "--file", "examples/floating-ip.yaml")
        infra.ready(KIND, "shop")
        assert infra.told(KIND, "shop", "FloatingAddressFromPoolReady") == "Done"
        (address,) = infra.status(POOLS, "outside")["claimedIPs"]
        (port,) = infra.sdk.network.ports(device_id=infra.status(KIND, "shop")["instanceID"])
        (ip,) = infra.sdk.network.ips(floating_ip_address=address)
        assert ip.port_id == port.id
        gone(infra, "shop")
        eventually(lambda: "claimedIPs" not in infra.status(POOLS, "outside"), limit=60, pause=1)
        infra.only(before)  # whose address is returned, as the example says, because no claim uses it
        infra.delete(POOLS, "outside")
    finally:
        infra.delete(KIND, "--ignore-not-found", "shop")
        infra.delete(POOLS, "--ignore-not-found", "outside")
        infra.cloud.kubectl("delete", "crd", *CRDS)
