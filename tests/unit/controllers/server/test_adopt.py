"""Which unmarked resources belong to the server of a machine."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.adapters.openstack.tenant.rest.rest_types import found_of
from stackwright.controllers.infra.managed_resources import DesiredResource
from stackwright.controllers.server.adopt import adopt
from stackwright.core.openstack.clouds import query
from stackwright.core.openstack.resources import SERVER_KEY, CloudResource, ResourceKey

PORT: ResourceKey = ("port", "m-0")
TRUNK: ResourceKey = ("trunk", "m-0")
PARTS = [DesiredResource(key, lambda ids: {}) for key in (PORT, TRUNK, SERVER_KEY)]
SERVER = CloudResource("server", "s", "m")


@pytest.mark.parametrize(
    ("trunks", "adopted"),
    [({"t1": "p1"}, "t1"), ({"t0": "p0", "t1": "p1"}, "t1"), ({"t0": "p0"}, ""), ({}, "")],
)
def test_a_trunk_is_adopted_only_if_it_is_that_of_the_servers_port(trunks: dict[str, str], adopted: str) -> None:
    """Others may have a trunk of the same name."""
    raws: dict[str, Any] = {"name": "m-0", "status": "ACTIVE"}
    answers = {
        query("port", name="m-0", device_id="s"): (found_of("port", {"id": "p1", **raws}),),
        query("trunk", name="m-0"): tuple(
            found_of("trunk", {"id": t, "port_id": p, **raws}) for t, p in trunks.items()
        ),
    }
    found = adopt("m", {}, PARTS, SERVER, {}, answers)
    if adopted:
        assert found.record == {PORT: "p1", TRUNK: adopted, SERVER_KEY: "s"}
    else:
        assert (found.record, found.problem) == ({}, "it has no trunk m-0")
    assert adopt("m", {}, PARTS, SERVER, {PORT: "p1"}, answers) == found, "a recorded resource is not looked up"
