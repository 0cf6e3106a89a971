"""OpenStackServers in the real cloud: their credentials, and their addresses of a pool."""

from __future__ import annotations

import yaml
from harness import eventually
from infra import Infra
from servers import BARE, KIND, POOLS, gone, server

CRDS = ("ipaddressclaims.ipam.cluster.x-k8s.io", "ipaddresses.ipam.cluster.x-k8s.io")


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
