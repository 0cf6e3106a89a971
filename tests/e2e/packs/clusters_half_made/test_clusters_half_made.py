"""Clusters that are deleted while incomplete, and an operator that is killed."""

from __future__ import annotations

import pytest
from clusters import CLUSTERS, bastion_ready, cluster
from harness import eventually
from infra import Infra

WHOLE = {"network": 1, "subnet": 1, "router": 1, "group": 3, "ip": 2, "server": 1}
"""Resources of a cluster with a bastion, without ports."""
KILLS = (1, 4, 8)  # the operator is killed when this many resources exist


def wait_for(member: Infra, count: int) -> None:
    """Waits until this many resources were created."""
    eventually(lambda: len(member.there()) >= count, limit=240)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6, 8, sum(WHOLE.values())])
def test_a_half_created_cluster_is_deleted_completely(member: Infra, count: int) -> None:
    member.cloud.apply(cluster())
    wait_for(member, count)
    print(f"deleted with {sorted(what for what, _ in member.there())}")
    member.delete(CLUSTERS, "shop")
    member.only(set())


def test_a_killed_operator_creates_no_resource_of_a_cluster_twice(member: Infra) -> None:
    member.cloud.apply(cluster())
    for count in KILLS:
        wait_for(member, count)
        member.kill_operator()
    member.ready(CLUSTERS, "shop")
    bastion_ready(member)
    found = [what for what, _ in member.there()]
    assert {what: found.count(what) for what in WHOLE} == WHOLE
    member.delete(CLUSTERS, "shop")
    member.only(set())
