"""OpenStackServers that are deleted while incomplete, and an operator that is killed."""

from __future__ import annotations

import pytest
from harness import eventually
from infra import Infra, Things
from servers import KIND, gone, server

WHOLE = ["port", "server", "trunk", "volume", "volume"]
KILLS = (1, 2, 4)  # the operator is killed when this many of them exist


def wait_for(infra: Infra, count: int, before: Things) -> None:
    """Waits until this many resources were created."""
    eventually(lambda: len(infra.there() - before) >= count, limit=240)


@pytest.mark.parametrize("count", range(len(WHOLE) + 1))
def test_half_created_resources_are_deleted_completely(infra: Infra, count: int) -> None:
    before = infra.there()
    infra.cloud.apply(server("brief"))
    wait_for(infra, count, before)
    print(f"deleted with {sorted(what for what, _ in infra.there() - before)}")
    gone(infra, "brief")
    infra.only(before)


def test_a_killed_operator_creates_no_resource_twice(infra: Infra) -> None:
    before = infra.there()
    infra.cloud.apply(server("killed"))
    for count in KILLS:
        wait_for(infra, count, before)
        infra.kill_operator()
    infra.ready(KIND, "killed")
    status = infra.status(KIND, "killed")
    made = infra.there() - before
    assert sorted(what for what, _ in made) == WHOLE
    assert ("server", status["instanceID"]) in made
    gone(infra, "killed")
    infra.only(before)
