"""Clusters in the real cloud, as a member of a project: created from an example, changed, deleted."""

from __future__ import annotations

from clusters import (
    BASTION,
    CLUSTERS,
    MACHINES,
    SERVERS,
    bastion_address,
    bastion_ready,
    delete_example,
    make_example,
    worker,
)
from harness import eventually
from infra import Infra, example
from storage import Storage

WORKERS = ("worker-1", "worker-2", "worker-3")


def test_the_example_becomes_a_cluster_with_bastion_and_machines(member: Infra, storage: Storage) -> None:
    make_example(member, storage)


def test_machines_are_added_and_removed_in_a_loop(member: Infra) -> None:
    before = member.there()
    for name in WORKERS:
        member.cloud.apply(worker(name))
    for name in WORKERS:
        member.ready(MACHINES, name)
    assert sorted(what for what, _ in member.there() - before) == sorted(("port", "server") * len(WORKERS))
    for name in WORKERS:
        member.delete(MACHINES, name)
    member.only(before)
    assert member.names(SERVERS) == {"shop-control-plane", "shop-worker", BASTION}


def test_a_machine_is_made_once_and_cannot_be_another(member: Infra) -> None:
    said = member.kubectl(
        "patch", f"{MACHINES}.infrastructure.cluster.x-k8s.io", "shop-worker",
        "--type=merge", "-p", '{"spec": {"flavor": "m1.small"}}', code=1,
    )  # fmt: skip
    assert "flavor" in said


def test_a_changed_bastion_is_another_server_at_the_same_address(member: Infra) -> None:
    before, address = member.status(SERVERS, BASTION)["instanceID"], bastion_address(member)
    spec = example("cluster")[0]["spec"]["bastion"]["spec"]
    member.patch(CLUSTERS, "shop", bastion={"spec": {**spec, "serverMetadata": [{"key": "for", "value": "visitors"}]}})
    eventually(lambda: member.status(SERVERS, BASTION)["instanceID"] not in ("", before), limit=240, pause=1)
    bastion_ready(member)
    assert bastion_address(member) == address
    assert before not in {server.id for server in member.sdk.compute.servers()}


def test_a_disabled_bastion_is_deleted_with_its_resources(member: Infra) -> None:
    before = member.there()
    member.patch(CLUSTERS, "shop", bastion={"enabled": False})
    eventually(lambda: BASTION not in member.names(SERVERS), limit=120, pause=1)
    eventually(lambda: sorted(w for w, _ in before - member.there()) == ["group", "ip", "port", "server"], 60, 1)
    assert member.there() < before


def test_a_deleted_cluster_waits_for_its_machines_and_leaves_no_resources(member: Infra) -> None:
    delete_example(member)
