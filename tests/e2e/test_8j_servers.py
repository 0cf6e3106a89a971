"""OpenStackServers in the real cloud: made of examples, deleted by others, refused, killed, gone without a trace."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from full import FullCloud
from harness import eventually
from infra import Infra, example, namespace
from storage import Storage

KIND, POOLS = "openstackservers", "openstackfloatingippools"
CRDS = ("ipaddressclaims.ipam.cluster.x-k8s.io", "ipaddresses.ipam.cluster.x-k8s.io")
BARE = {"trunk": False, "rootVolume": None, "additionalBlockDevices": None}


@pytest.fixture(scope="module")
def infra(storage_cloud: FullCloud, storage: Storage) -> Iterator[Infra]:
    with namespace(storage_cloud, storage_cloud.stackwright("openrc", "--format", "secret")):
        made = Infra(storage_cloud, storage.sdk)
        before = made.there()
        yield made
        made.delete(KIND)
        made.only(before)


def server(name: str = "web", **spec: Any) -> dict[str, Any]:
    """As the example, with these changes; without what is None."""
    (made,) = example("server-volumes")
    wanted = {field: value for field, value in {**made["spec"], **spec}.items() if value is not None}
    return {**made, "metadata": {**made["metadata"], "name": name}, "spec": wanted}


def gone(infra: Infra, name: str) -> None:
    """With all that it recorded."""
    status = infra.status(KIND, name)
    had = {entry["id"] for entries in (status.get("resources") or {}).values() for entry in entries}
    had.add(status.get("instanceID"))
    infra.delete(KIND, name)
    eventually(lambda: not had & {id_ for _, id_ in infra.there()}, limit=30, pause=1)


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


@pytest.mark.long
def test_a_server_that_somebody_deleted_is_told_and_made_anew_if_the_policy_says_so(infra: Infra) -> None:
    infra.cloud.apply(server("kept", recreatePolicy="Never", **BARE))
    infra.ready(KIND, "kept")
    before, kept = infra.status(KIND, "web")["instanceID"], infra.status(KIND, "kept")["instanceID"]
    for each in (before, kept):
        infra.sdk.compute.delete_server(each)
    told = eventually(lambda: infra.told(KIND, "kept") == "BlockedInstanceNotFound", limit=180, pause=1)
    eventually(lambda: infra.status(KIND, "web")["instanceID"] not in ("", before), limit=180, pause=1)
    print(f"told after {told:.0f} s, made anew after {infra.ready(KIND, 'web'):.0f} s more")
    assert infra.status(KIND, "kept")["ready"] is False
    gone(infra, "kept")


@pytest.mark.long
def test_what_somebody_detached_is_attached_again(infra: Infra) -> None:
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


def test_credentials_that_are_refused_are_told_and_mended(infra: Infra) -> None:
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


def test_a_server_gets_an_address_of_a_pool_and_gives_it_back(infra: Infra) -> None:
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
        infra.only(before)  # whose address nobody claims any more is given back, as the example says
        infra.delete(POOLS, "outside")
    finally:
        infra.delete(KIND, "--ignore-not-found", "shop")
        infra.delete(POOLS, "--ignore-not-found", "outside")
        infra.cloud.kubectl("delete", "crd", *CRDS)


@pytest.mark.parametrize(
    "seconds", [2, *(pytest.param(each, marks=pytest.mark.long) for each in (0, 1, 4, 6, 9, 12, 16))]
)
def test_what_is_deleted_half_made_leaves_nothing(infra: Infra, seconds: int) -> None:
    before = infra.there()
    infra.cloud.apply(server("brief"))
    time.sleep(seconds)
    print(f"after {seconds} s: {sorted(what for what, _ in infra.there() - before)}")
    gone(infra, "brief")
    infra.only(before)


@pytest.mark.long
def test_the_operator_that_is_killed_makes_nothing_twice(infra: Infra) -> None:
    before = infra.there()
    infra.cloud.apply(server("killed"))
    for _ in range(3):
        time.sleep(1.5)
        infra.kill_operator()
    infra.ready(KIND, "killed")
    status = infra.status(KIND, "killed")
    made = infra.there() - before
    assert sorted(what for what, _ in made) == ["port", "server", "trunk", "volume", "volume"]
    assert ("server", status["instanceID"]) in made
    gone(infra, "killed")
    infra.only(before)
