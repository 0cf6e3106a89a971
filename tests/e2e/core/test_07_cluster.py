"""The example of a cluster is created as specified, and deleted without remains."""

from __future__ import annotations

from clusters import CLUSTERS, MACHINES, make_example
from harness import eventually
from infra import Infra
from storage import Storage


def test_a_member_makes_the_cluster_of_the_example(member: Infra, storage: Storage) -> None:
    make_example(member, storage)


def test_a_member_deletes_the_cluster_of_the_example(member: Infra) -> None:
    member.kubectl("delete", f"{CLUSTERS}.infrastructure.cluster.x-k8s.io", "shop", "--wait=false")
    eventually(lambda: "shop-control-plane" in str(member.status(CLUSTERS, "shop")["conditions"]), limit=60)
    member.delete(MACHINES)
    eventually(lambda: member.names(CLUSTERS) == set(), limit=120, pause=1)
    member.only(set())
