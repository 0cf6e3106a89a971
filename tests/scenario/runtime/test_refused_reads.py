"""The API server refuses a read: each object that needs it reports the reason, and continues when it is permitted."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.api.meta import Kind
from stackwright.controllers.infra.clusterapi import CLUSTER, MANAGED_BY
from stackwright.core.errors import TerminalError, TransientError
from tests.scenario.capi_world import CLUSTERS, MACHINES, SERVERS, Clusters

pytestmark = pytest.mark.looptime
TEXT = "list Cluster: the operator lacks the RBAC permission to list clusters"


def refuse(world: Clusters, error: type[Exception]) -> list[bool]:
    """Refuse reads of Clusters until the returned list has an item."""
    allowed: list[bool] = []
    reads = {name: getattr(world.cluster, name) for name in ("get", "list")}

    def read(name: str) -> Any:
        async def reading(kind: Kind, *more: Any) -> Any:
            if kind.kind == CLUSTER.kind and not allowed:
                raise error(TEXT)
            return await reads[name](kind, *more)

        return reading

    for name in reads:
        setattr(world.cluster, name, read(name))
    return allowed


@pytest.mark.parametrize(("error", "reason"), [(TerminalError, "BlockedRefused"), (TransientError, "Waiting")])
async def test_what_may_not_be_read_is_in_ready_until_it_may(error: type[Exception], reason: str) -> None:
    world = Clusters(core=True)
    allowed = refuse(world, error)
    world.make()
    world.machine()
    await world.run(600)
    assert world.told() == world.told(kind=MACHINES, name="m") == (reason, TEXT)
    assert [write.verb for write in world.cluster.writes if write.kind in (CLUSTERS, MACHINES)] == ["apply_status"] * 2
    assert len(world.reconciles) < 60
    allowed.append(True)
    await world.run(90)  # the next retry is at most a minute later
    await world.ready(MACHINES, "m")
    assert world.told() == ("Ready", "")
    assert world.told(kind=SERVERS, name="m") == ("Ready", "")


async def test_a_deletion_that_hangs_names_its_cause() -> None:
    world = Clusters(core=True)
    world.make()
    await world.ready()
    allowed = refuse(world, TerminalError)
    world.delete(CLUSTERS, "c")
    await world.run(120)
    assert world.told() == ("BlockedRefused", TEXT)
    allowed.append(True)
    await world.settle()
    assert (world.get(CLUSTERS, "c"), world.there()) == (None, [])


async def test_the_status_of_what_another_system_manages_is_left_to_it() -> None:
    world = Clusters(core=True)
    refuse(world, TerminalError)
    world.make()
    world.write(CLUSTERS, "c", (world.get(CLUSTERS, "c") or {})["spec"], annotations={MANAGED_BY: "terraform"})
    await world.run(300)
    assert world.status() == {"observedGeneration": -1}
