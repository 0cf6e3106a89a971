"""Properties of every decision about resources in an OpenStack, for any present and past state."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from stackwright.api.infra.server import OpenStackServer
from stackwright.controllers.server.objects import parts
from stackwright.controllers.server.resolve import resolve
from tests.unit.controllers.infra.decisions.laws import lawful
from tests.unit.controllers.infra.decisions.observations import cluster, machine, pool, server
from tests.unit.controllers.infra.decisions.specs import ID, SERVER
from tests.unit.controllers.infra.decisions.strategies import KEY, Everything, parsed

EXAMPLES = settings(max_examples=3 * settings.default.max_examples // 2)


@EXAMPLES
@given(server)
def test_of_a_server(observed: list[Any]) -> None:
    lawful(observed)


@EXAMPLES
@given(machine)
def test_of_a_machine(observed: list[Any]) -> None:
    lawful(observed)


@EXAMPLES
@given(cluster)
def test_of_a_cluster(observed: list[Any]) -> None:
    lawful(observed)


@EXAMPLES
@given(pool)
def test_of_a_pool_of_floating_ips(observed: list[Any]) -> None:
    lawful(observed)


@EXAMPLES
@given(SERVER)
def test_a_server_names_each_port_and_disk_once(raw: dict[str, Any]) -> None:
    _, spec = parsed(OpenStackServer, raw)
    resolved = resolve(KEY[1], spec, {"a": ID}, Everything(1)).value
    if resolved is None:
        return
    *before, last = parts(KEY, spec, resolved)
    body = last.body({part.resource_key: str(number) for number, part in enumerate(before)})
    ports = [each["port"] for each in body["networks"]]
    devices = body.get("block_device_mapping_v2", [])
    disks = [each["uuid"] for each in devices if each["source_type"] == "volume"]
    assert len(set(ports)) == len(ports) == len(spec["ports"])
    assert len(set(disks)) == len(disks)
    assert [each["boot_index"] for each in devices].count(0) == bool(devices)
    assert len({part.resource_key for part in before}) == len(before)
