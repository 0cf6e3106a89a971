"""OVN on three nodes: databases of three members, tunnels, and a live migration."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import ovn
import pytest
from full import FullCloud
from harness import eventually
from traffic.pinger import Pinger
from two_nodes import BOOT_ID, host, migrate_live, two_machines
from vms import Vm, Vms

HOSTS = {f"ovn-ovsdb-{number}" for number in range(3)}
THREE: dict[str, Any] = {"networking": {"ovn": {"values": {"pod": {"replicas": {"ovsdb": 3}}}}}}
CUT = 5.0  # seconds without a response that a change of the databases may cause at most; it should cause none
MIGRATION = 30.0  # the same, for the move of an emulated machine
LARGE = 1450  # bytes; a packet with them fits into 1500 bytes, but not beside the header of a tunnel


@pytest.fixture(scope="module")
def wide_cloud(ovn_cloud: FullCloud) -> FullCloud:
    """With three nodes."""
    ovn_cloud.stackwright("up", "--nodes", "3", "--file", ovn_cloud.example, "--yes", limit=900)
    ovn_cloud.wait_ready()
    return ovn_cloud


@pytest.fixture(scope="module")
def machines(wide_cloud: FullCloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vms]:
    made = Vms(wide_cloud, tmp_path_factory.mktemp("client"))
    yield made
    made.sdk.close()


@pytest.fixture(scope="module")
def two(machines: Vms) -> Iterator[tuple[Vm, Vm]]:
    """One machine on each of two nodes."""

    def begin() -> list[Vm]:
        return [machines.begin("one", "node1"), machines.begin("two", "node2")]

    with two_machines(machines, {"node1", "node2", "node3"}, begin) as made:
        yield made


def are_three(wide_cloud: FullCloud, database: str) -> bool:
    """Whether all members agree on three members, with one id each, and on the leader."""
    seen = [ovn.member(wide_cloud, number, database) for number in range(3)]
    leaders = {
        each.servers[f"ovn-ovsdb-{number}"][0] if each.leader == "self" else each.leader
        for number, each in enumerate(seen)
    }
    return len(leaders - {"unknown"}) == len(leaders) == 1 and all(
        each.servers.keys() == HOSTS and all(len(ids) == 1 for ids in each.servers.values()) for each in seen
    )


def wait_for_three(wide_cloud: FullCloud) -> None:
    for database in ovn.DATABASES:
        eventually(lambda database=database: are_three(wide_cloud, database), limit=120, pause=2)


def test_one_member_becomes_three(wide_cloud: FullCloud) -> None:
    before = ovn.content(wide_cloud)
    assert all(before.values())
    for database in ovn.DATABASES:
        assert ovn.member(wide_cloud, 0, database).servers.keys() == {"ovn-ovsdb-0"}
    with Pinger(wide_cloud.demo_address) as pinger:
        wide_cloud.change(services=THREE)
        wait_for_three(wide_cloud)
    assert [ovn.content(wide_cloud, number) for number in range(3)] == [before] * 3
    nodes = {pod["spec"]["nodeName"] for pod in wide_cloud.pods("-l", "application=ovn,component=ovsdb").values()}
    assert nodes == {"node1", "node2", "node3"}
    print(f"longest time without a response: {pinger.gap():.1f} s")
    assert pinger.gap() < CUT


def test_machines_on_two_nodes_talk_over_geneve(machines: Vms, two: tuple[Vm, Vm]) -> None:
    one, other = two
    assert (host(machines, one), host(machines, other)) == ("node1", "node2")
    eventually(lambda: machines.sees(one, other) and machines.sees(other, one), limit=60, pause=1)
    # With an MTU that ignores the tunnel, a machine sends it as one packet, which is lost.
    assert machines.says(one, f"ping -c 2 -W 2 -s {LARGE} {other.fixed}")


def test_live_migration_with_ovn(machines: Vms, two: tuple[Vm, Vm]) -> None:
    one, other = two
    boot = machines.ssh(one, BOOT_ID)
    assert migrate_live(machines, one, "node2") < MIGRATION
    assert machines.ssh(one, BOOT_ID) == boot, "it was not started anew"
    eventually(lambda: machines.sees(one, other), limit=60, pause=1)


@pytest.mark.parametrize("database", ovn.DATABASES)
def test_a_new_leader_serves_after_the_loss_of_the_former_one(
    wide_cloud: FullCloud, machines: Vms, two: tuple[Vm, Vm], database: str
) -> None:
    """Then a port is bound on a node, which takes a write to both databases."""
    (number,) = (each for each in range(3) if ovn.member(wide_cloud, each, database).role == "leader")
    words = ("-n", wide_cloud.namespace, "--grace-period=0", "--force")
    with Pinger(two[1].floating) as pinger:
        wide_cloud.kubectl("delete", "pod", f"ovn-ovsdb-{number}", *words)
        start = time.monotonic()
        others = [each for each in range(3) if each != number]
        eventually(
            lambda: any(ovn.member(wide_cloud, each, database).role == "leader" for each in others), limit=60, pause=0.5
        )
        print(f"another leader of {database} after {time.monotonic() - start:.1f} s")
        made = machines.begin(f"after-{database}", "node3")
        try:
            machines.reached(made)
        finally:
            machines.delete(made)
    assert pinger.gap() < CUT
    wide_cloud.wait_ready()
    wait_for_three(wide_cloud)


def test_a_member_that_lost_its_volume_joins_again(wide_cloud: FullCloud) -> None:
    before = {database: ovn.member(wide_cloud, 0, database).servers["ovn-ovsdb-1"] for database in ovn.DATABASES}
    content = ovn.content(wide_cloud)
    words = ("-n", wide_cloud.namespace, "--wait=false")
    wide_cloud.kubectl("delete", "pvc/ovn-data-ovn-ovsdb-1", "pod/ovn-ovsdb-1", *words)

    def joined(database: str) -> bool:
        now = ovn.member(wide_cloud, 0, database).servers["ovn-ovsdb-1"]
        return are_three(wide_cloud, database) and now != before[database]

    for database in ovn.DATABASES:
        eventually(lambda database=database: joined(database), limit=180, pause=2)
    assert ovn.content(wide_cloud, 1) == content
    wide_cloud.wait_ready()


def test_without_a_majority_the_cause_is_named_and_networks_continue(wide_cloud: FullCloud, two: tuple[Vm, Vm]) -> None:
    content = ovn.content(wide_cloud)
    held = {
        pod["spec"]["nodeName"]: pod["metadata"]["name"]
        for pod in wide_cloud.pods("-l", "application=ovn,component=ovsdb").values()
    }
    away = [node for node, name in held.items() if name != "ovn-ovsdb-0"]
    assert len(away) == 2
    with Pinger(two[1].floating) as pinger:
        wide_cloud.kubectl("cordon", *away)
        try:
            for node in away:
                wide_cloud.kubectl("delete", "pod", held[node], "-n", wide_cloud.namespace, "--wait=false")
            eventually(lambda: ovn.member(wide_cloud, 0, "nb").leader == "unknown", limit=60, pause=1)
            eventually(lambda: "ovn-ovsdb" in wide_cloud.condition()["message"], limit=120, pause=2)
            print(wide_cloud.condition()["message"])
            assert wide_cloud.condition()["status"] == "False"
            assert not ovn.accepts_writes(wide_cloud, 0)
        finally:
            wide_cloud.kubectl("uncordon", *away)
    assert pinger.gap() < CUT
    wide_cloud.wait_ready()
    wait_for_three(wide_cloud)
    assert ovn.content(wide_cloud) == content
    assert ovn.accepts_writes(wide_cloud, 0)
