"""A service with recorded resources leaves the cloud's catalog: nothing counts as deleted, and a condition says why."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.core.openstack.errors import Reason, TerminalCloudError
from tests.scenario.real_port import Connection, real_port
from tests.scenario.server_world import KIND, WHOLE, Servers, made

__all__ = ["real_port"]
pytestmark = [pytest.mark.looptime, pytest.mark.usefixtures("real_port")]
restarted = pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Types whose service has no endpoint."""
    found: set[str] = set()

    def guarded(name: str, what: Any) -> Any:
        before = getattr(Connection, name)

        def call(connection: Connection, first: Any, *args: Any) -> Any:
            if what(first) in found:
                raise TerminalCloudError(Reason.SERVICE_MISSING, "the catalog has no endpoint")
            return before(connection, first, *args)

        return call

    for name, what in (("fetch", str), ("single", str), ("run", lambda call: call.resource_key[0])):
        monkeypatch.setattr(Connection, name, guarded(name, what))
    return found


async def without_volumes(missing: set[str], *, restarted: bool, **spec: Any) -> Servers:
    """A server with volumes, whose cloud lost the service of volumes."""
    world = await made(**WHOLE, **spec)
    missing.add("volume")
    if not restarted:
        return world
    await world.stop()
    return world.again()


def said(world: Servers) -> str:
    ids = ", ".join(f"volume {each['id']}" for each in world.status["resources"]["volumes"])
    return f"The cloud lacks the API of volumes (service block_storage), which is needed for {ids}: restore it"


@restarted
async def test_a_deletion_names_the_recorded_resources_and_a_policy(missing: set[str], restarted: bool) -> None:
    world = await without_volumes(missing, restarted=restarted)
    volumes = world.status["resources"]["volumes"]
    world.delete(KIND, "web")
    await world.run(300)
    out = "or set spec.credentialsLostPolicy to Orphan, which keeps the resources in the cloud"
    assert world.told() == ("BlockedServiceMissing", f"{said(world)}; {out}")
    assert world.status["resources"] == {"volumes": volumes}, "all others are deleted"
    missing.clear()
    await world.run(120)
    assert not world.get()
    assert not world.there()


async def test_the_policy_ends_a_deletion_without_the_service(missing: set[str]) -> None:
    world = await without_volumes(missing, restarted=True)
    world.delete(KIND, "web")
    await world.run(300)
    text = "Left in the cloud: " + ", ".join(f"volume {each['id']}" for each in world.status["resources"]["volumes"])
    world.change(credentialsLostPolicy="Orphan")
    await world.run(60)
    assert not world.get()
    assert [message for _, reason, message, _ in world.cluster.events if reason == "LeftBehind"] == [text]


@restarted
async def test_nothing_is_recreated_without_the_service(missing: set[str], restarted: bool) -> None:
    """Recreation deletes the volumes: it would stop after the deletion of the server."""
    world = await without_volumes(missing, restarted=restarted, recreatePolicy="Always")
    await world.run(300)
    assert world.told()[0] == "Ready"
    world.clouds.remove("port", world.one("port").id)
    await world.run(300)
    assert world.told() == ("BlockedServiceMissing", said(world))
    assert world.one("server")
    missing.clear()
    await world.run(300)
    assert world.told()[0] == "Ready"
    assert world.one("port")
