"""Clusters that are deleted half made, and an operator that is killed."""

from __future__ import annotations

import time

import pytest
from clusters import CLUSTERS, bastion_ready, cluster
from infra import Infra


@pytest.mark.parametrize("seconds", [0, 1, 2, 3, 4, 6, 9, 15, 25])
def test_a_cluster_that_is_deleted_half_made_leaves_nothing(member: Infra, seconds: int) -> None:
    member.cloud.apply(cluster())
    time.sleep(seconds)
    print(f"after {seconds} s: {sorted(what for what, _ in member.there())}")
    member.delete(CLUSTERS, "shop")
    member.only(set())


def test_the_operator_that_is_killed_makes_nothing_of_a_cluster_twice(member: Infra) -> None:
    member.cloud.apply(cluster())
    for _ in range(3):
        time.sleep(2)
        member.kill_operator()
    member.ready(CLUSTERS, "shop")
    bastion_ready(member)
    found = [what for what, _ in member.there()]
    wanted = {"network": 1, "subnet": 1, "router": 1, "group": 3, "ip": 2, "server": 1}
    assert {what: found.count(what) for what in wanted} == wanted
    member.delete(CLUSTERS, "shop")
    member.only(set())
