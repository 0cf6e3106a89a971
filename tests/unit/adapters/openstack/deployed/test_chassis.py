"""OVN's chassis as agents of Neutron: used by the ports of servers, and what an interrupted deletion leaves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from openstack.network.v2.agent import Agent
from openstack.network.v2.port import Port

from stackwright.adapters.openstack.deployed import agents
from stackwright.adapters.openstack.deployed.agents import CloudAgents, forget_network_agent, network_uses
from stackwright.adapters.openstack.deployed.chassis import HALF_DELETED
from stackwright.adapters.openstack.transport.client import PAGE
from stackwright.core.errors import TransientError
from stackwright.core.plan import DeleteAgents, Inventory
from tests.unit.adapters.openstack.deployed.test_agents import ADMIN

pytestmark = pytest.mark.filterwarnings("default")  # of the SDK, about itself
NAME = "ovn-controller@node2"


class Network:
    """Neutron with OVN. `breaks`: the next deletion ends between the rows of its record."""

    def __init__(self) -> None:
        self.hosts = {"a": "node1", "b": "node2"}
        self.binaries: dict[str, str] = {}
        self.ports_: list[Port] = []
        self.breaks = False
        self.lists_nothing = self.lists_no_agents = 0  # numbers of wrong answers

    def agents(self, fields: list[str], binary: str = "", host: str = "") -> list[Agent]:
        """A server that ignores the filter of programs."""
        if self.lists_no_agents:
            self.lists_no_agents -= 1
            return []
        found = [(key, name) for key, name in self.hosts.items() if host in ("", name)]
        facts = [
            {"id": key, "binary": self.binaries.get(key, "ovn-controller"), "host": name, "alive": key == "a"}
            for key, name in found
        ]
        return [Agent.existing(**{field: each[field] for field in fields if field in each}) for each in facts]

    def ports(self, **query: Any) -> list[Port]:
        if self.lists_nothing:
            self.lists_nothing -= 1
            return []
        assert query["binding:host_id"] == "node2" and "binding:host_id" in query["fields"]
        assert query["limit"] == PAGE
        return self.ports_  # a server that ignores the filter

    def delete_agent(self, agent: Agent) -> None:
        if self.breaks:
            self.breaks, self.hosts[agent.id] = False, HALF_DELETED
            raise TransientError("the connection ended")
        del self.hosts[agent.id]


def cloud(network: Network) -> Any:
    return SimpleNamespace(network=network)


def port(owner: str, host: str) -> Port:
    return Port.existing(
        **{"id": "p", "device_id": f"{owner} on {host}", "device_owner": owner, "binding:host_id": host}
    )


def test_a_chassis_is_used_by_the_ports_of_servers_on_its_node() -> None:
    network = Network()
    assert list(network_uses(cloud(network), [NAME])) == []
    owners = ("compute:nova", "compute:other-zone", "network:dhcp", "")
    network.ports_ = [port(owner, host) for owner in owners for host in ("node1", "node2")]
    assert list(network_uses(cloud(network), [NAME])) == [
        (NAME, "the port of server compute:nova on node2"),
        (NAME, "the port of server compute:other-zone on node2"),
    ]


def test_what_an_interrupted_deletion_leaves_is_deleted_with_the_next_attempt() -> None:
    network = Network()
    assert HALF_DELETED == '("Chassis" register deleted)'  # the text of Neutron
    network.breaks = True
    network.hosts["m"], network.binaries["m"] = HALF_DELETED, "neutron-ovn-metadata-agent"
    with pytest.raises(TransientError):
        forget_network_agent(cloud(network), NAME)
    assert network.hosts == {"a": "node1", "b": HALF_DELETED, "m": HALF_DELETED}
    forget_network_agent(cloud(network), NAME)
    assert network.hosts == {"a": "node1", "m": HALF_DELETED}


async def test_one_list_without_ports_does_not_delete_the_chassis_of_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be the response of a replica that has just started, after a list that showed no use either."""
    network = Network()
    network.ports_ = [port("compute:nova", "node2")]
    monkeypatch.setattr(agents, "connect_as", lambda *_, **__: cloud(network))
    monkeypatch.setattr(agents, "CONFIRM", 0.0)
    look = Inventory(("openstack", "networking-inventory"), {}, "networking", (NAME,), ("openstack", "keystone-admin"))
    for network.lists_nothing in (0, 1):
        assert await CloudAgents().forget(DeleteAgents(look, (NAME,)), ADMIN) == {
            NAME: "the port of server compute:nova on node2"
        }
    network.lists_no_agents, network.lists_nothing = 1, 1
    assert await CloudAgents().forget(DeleteAgents(look, (NAME,)), ADMIN) == {NAME: "networking still lists it"}
    network.lists_nothing, network.ports_ = 0, []
    assert await CloudAgents().forget(DeleteAgents(look, (NAME,)), ADMIN) == {}
    assert network.hosts == {"a": "node1"}


async def test_a_use_that_one_list_lacks_is_not_forgotten_with_another_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network()
    network.hosts["c"] = "node3"
    network.ports_ = [port("compute:nova", "node2")]
    lists: list[list[Port]] = [network.ports_, []]
    monkeypatch.setattr(network, "ports", lambda **query: lists.pop(0) if lists else [])
    monkeypatch.setattr(agents, "connect_as", lambda *_, **__: cloud(network))
    monkeypatch.setattr(agents, "CONFIRM", 0.0)
    names = (NAME, "ovn-controller@node3")
    look = Inventory(("openstack", "networking-inventory"), {}, "networking", names, ("openstack", "keystone-admin"))
    found = await CloudAgents().forget(DeleteAgents(look, names), ADMIN)
    assert found == {NAME: "the port of server compute:nova on node2"}
    assert network.hosts == {"a": "node1", "b": "node2"}


async def test_an_interrupted_deletion_is_finished_with_the_next_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record no longer has the name of the node."""
    network = Network()
    network.breaks = True
    monkeypatch.setattr(agents, "connect_as", lambda *_, **__: cloud(network))
    monkeypatch.setattr(agents, "CONFIRM", 0.0)
    look = Inventory(("openstack", "networking-inventory"), {}, "networking", (NAME,), ("openstack", "keystone-admin"))
    assert await CloudAgents().forget(DeleteAgents(look, (NAME,)), ADMIN) == {NAME: "the connection ended"}
    assert HALF_DELETED in network.hosts.values()
    assert await CloudAgents().forget(DeleteAgents(look, (NAME,)), ADMIN) == {}
    assert network.hosts == {"a": "node1"}
