"""The state of a server in Nova, including fields that are absent right after its creation."""

from __future__ import annotations

from stackwright.controllers.server.state import addresses, detached
from stackwright.core.openstack.resources import SERVER_KEY, CloudResource, ProjectView, ResourceKey

PORT: ResourceKey = ("port", "web-0")
OTHER: ResourceKey = ("port", "web-1")
VOLUME: ResourceKey = ("volume", "root")
BUILT = CloudResource("server", "s", "web", "ACTIVE", facts={"metadata": {}, "tags": []})


def port(id_: str, network: str, *fixed: str, device: str = "") -> CloudResource:
    facts = {"network_id": network, "fixed_ips": [{"ip_address": each} for each in fixed], "device_id": device}
    return CloudResource("port", id_, facts={**facts, "mac_address": f"mac-{id_}"})


THINGS = {
    PORT: port("p", "n2", "fd00::5", "10.0.0.5"), OTHER: port("q", "n1", "10.1.0.5"),
    VOLUME: CloudResource("volume", "v", state="reserved"), SERVER_KEY: BUILT,
}  # fmt: skip


def told(server: CloudResource) -> list[tuple[str, str]]:
    return [(each["type"], each["address"]) for each in addresses({**THINGS, SERVER_KEY: server}, ProjectView())]


def test_a_server_of_which_only_its_state_is_known_has_the_addresses_of_its_ports() -> None:
    name = ("InternalDNS", "web")
    of_ports = [("InternalIP", "10.1.0.5"), ("InternalIP", "10.0.0.5"), ("InternalIP", "fd00::5"), name]
    assert told(BUILT) == of_ports
    assert told(CloudResource("server", "s", "web", "ACTIVE", facts={"addresses": {}})) == of_ports, (
        "Nova may forget them"
    )
    entries = [{"addr": "203.0.113.7", "OS-EXT-IPS:type": "floating", "version": 4}, {"addr": "10.0.0.9", "version": 4}]
    server = CloudResource("server", "s", "web", "ACTIVE", facts={"addresses": {"net": entries}})
    assert told(server) == [("InternalIP", "10.0.0.9"), ("ExternalIP", "203.0.113.7"), name]
    assert addresses({SERVER_KEY: BUILT}, ProjectView()) == []


def test_a_floating_ip_of_a_port_counts_once_and_before_nova_reports_it() -> None:
    here, other = (
        CloudResource("floating-ip", id_, facts={"port_id": id_, "floating_ip_address": f"203.0.113.{number}"})
        for number, id_ in enumerate(("p", "elsewhere"))
    )
    entries = [{"addr": "203.0.113.0", "OS-EXT-IPS:type": "floating", "version": 4}, {"addr": "10.0.0.9", "version": 4}]
    for told in ({}, {"net": entries}):
        server = CloudResource("server", "s", "web", "ACTIVE", facts={"addresses": told})
        found = addresses({**THINGS, SERVER_KEY: server}, ProjectView((here, other)))
        assert [each["address"] for each in found if each["type"] == "ExternalIP"] == ["203.0.113.0"]


def test_nothing_is_detached_before_nova_reported_the_attachments() -> None:
    assert detached(THINGS) == {}
    known = CloudResource("server", "s", "web", "ACTIVE", facts={"addresses": {}, "volumes": []})
    assert set(detached({**THINGS, SERVER_KEY: known})) == {PORT, OTHER, VOLUME}


def test_a_floating_ip_without_an_address_is_ignored() -> None:
    server = CloudResource("server", "s", "web", "ACTIVE", facts={})
    things: dict[ResourceKey, CloudResource] = {SERVER_KEY: server, ("port", "0"): port("p", "n", "10.0.0.9")}
    for facts in ({}, {"floating_ip_address": None}):
        view = ProjectView((CloudResource("floating-ip", "f", facts={"port_id": "p", **facts}),))
        assert [each["type"] for each in addresses(things, view)] == ["InternalIP", "InternalDNS"]


def test_a_report_of_many_addresses_is_fast() -> None:
    """A linear search for each address: 40,000 addresses blocked the operator for ten seconds."""
    entries = [{"addr": f"{n:x}"} for n in range(100_000)]
    server = CloudResource("server", "s", "web", "ACTIVE", facts={"addresses": {"a": entries, "b": entries}})
    assert len(addresses({SERVER_KEY: server}, ProjectView())) == 100_001
