"""OpenStackServers that are deleted half made, and an operator that is killed."""

from __future__ import annotations

import time

import pytest
from infra import Infra
from servers import KIND, gone, server


@pytest.mark.parametrize("seconds", [0, 1, 2, 4, 6, 9, 12, 16])
def test_what_is_deleted_half_made_leaves_nothing(infra: Infra, seconds: int) -> None:
    before = infra.there()
    infra.cloud.apply(server("brief"))
    time.sleep(seconds)
    print(f"after {seconds} s: {sorted(what for what, _ in infra.there() - before)}")
    gone(infra, "brief")
    infra.only(before)


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
