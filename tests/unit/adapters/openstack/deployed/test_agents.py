"""Agents of nodes that left: what uses them, as the real SDK reads the answers, and in which order they are deleted."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from keystoneauth1.exceptions import ConnectFailure
from openstack.compute.v2.migration import Migration
from openstack.compute.v2.server import Server
from openstack.compute.v2.service import Service
from openstack.exceptions import ConflictException
from openstack.network.v2.agent import Agent
from openstack.network.v2.router import Router
from requests import Response

from stackwright.adapters.openstack.deployed import administrator, agents
from stackwright.adapters.openstack.deployed.agents import (
    CONFIRM,
    CloudAgents,
    compute_uses,
    forget_compute,
    forget_network_agent,
    network_uses,
)
from stackwright.adapters.openstack.deployed.inventory import gathered
from stackwright.adapters.threads import with_deadline
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.openstack.deployed.agents import REPORTS
from stackwright.core.plan import DeleteAgents, Inventory

pytestmark = pytest.mark.filterwarnings("default")  # of the SDK, about itself
ADMIN = dict.fromkeys(
    ("username", "password", "auth_url", "project_name", "user_domain_name", "project_domain_name"), "x"
)


class Compute:
    """Nova with the compute services of two nodes; `state` is that of node2."""

    def __init__(self, state: str = "down", **held: Any) -> None:
        self.hosts = {"node1": "up", "node2": state}
        self.held = held
        self.lists_nothing = 0  # number of wrong answers
        self.refuses: set[str] = set()

    def services(self, binary: str = "", host: str = "") -> list[Service]:
        if self.lists_nothing > 0:
            self.lists_nothing -= 1
            return []
        every = {("nova-compute", name): state for name, state in self.hosts.items()} | {("nova-conductor", "c"): "up"}
        return [
            Service.existing(id=f"id-{found}", binary=program, host=found, state=state)
            for (program, found), state in every.items()
            if binary in ("", program) and host in ("", found)
        ]

    def servers(self, details: bool, all_projects: bool, compute_host: str) -> list[Server]:
        assert all_projects and not details
        return [Server.existing(**each) for each in self.held.get("servers", ()) if compute_host == "node2"]

    def migrations(self, host: str) -> list[Migration]:
        return [Migration.existing(**each) for each in self.held.get("migrations", ()) if host == "node2"]

    def delete_service(self, service: Service) -> None:
        if service.host in self.refuses:
            raise ConflictException("Unable to delete compute service that is hosting instances.")
        del self.hosts[service.host]


def facts_of(router: str) -> dict[str, Any]:
    return {"id": router, "name": f"{router} name", "distributed": router == "dvr", "ha": router.startswith("ha")}


class Network:
    """Neutron with agents on nodes, (program, node) → (up, ids of what it hosts); notes the requests that write."""

    def __init__(self, *unhosted: str, **agents: tuple[bool, set[str]]) -> None:
        self.kept = {name: (up, set(hosted)) for name, (up, hosted) in agents.items()}
        self.all = set(unhosted).union(*(hosted for _, hosted in agents.values()))
        self.disabled: set[str] = set()
        self.writes: list[str] = []
        self.fails_at: set[str] = set()
        self.lists_nothing = 0  # number of wrong answers

    def agents(self, fields: list[str], binary: str = "", host: str = "") -> list[Agent]:
        """The name of an agent is <program>_<node>, as l3_node1."""
        if self.lists_nothing > 0:
            self.lists_nothing -= 1
            return []
        found = []
        for name, (up, _) in self.kept.items():
            program, _, node = name.partition("_")
            if binary in ("", f"neutron-{program}-agent") and host in ("", node):
                able, own = name not in self.disabled, f"neutron-{program}-agent"
                found.append(Agent.existing(id=name, binary=own, host=node, alive=up, admin_state_up=able))
        return found

    def agent_hosted_routers(self, agent: Agent) -> list[Any]:
        return [self._thing(each) for each in sorted(self.kept[agent.id][1])]

    dhcp_agent_hosting_networks = agent_hosted_routers

    def routers(self, limit: int, fields: list[str]) -> list[Any]:
        return [Router.existing(**{name: facts_of(each)[name] for name in fields}) for each in sorted(self.all)]

    def _thing(self, name: str) -> Router:
        return Router.existing(**facts_of(name))

    def post(self, path: str, json: dict[str, str]) -> Response:
        _, _, agent, _ = path.split("/")
        (thing,) = json.values()
        return self._write(f"{agent} gets {thing}", lambda: self.kept[agent][1].add(thing))

    def delete(self, path: str) -> Response:
        _, _, agent, _, thing = path.split("/")
        return self._write(f"{agent} loses {thing}", lambda: self.kept[agent][1].remove(thing))

    def delete_agent(self, agent: Agent) -> None:
        self.writes.append(f"{agent.id} is deleted")
        assert not self.kept.pop(agent.id)[1]

    def _write(self, what: str, do: Any) -> Response:
        answer = Response()
        answer.status_code = 409 if what in self.fails_at else 201
        if what not in self.fails_at:
            do()
            self.writes.append(what)
        return answer


def cloud(compute: Any = None, network: Any = None) -> Any:
    return SimpleNamespace(compute=compute, network=network)


def uses(network: Network, *names: str) -> dict[str, list[str]]:
    return gathered(names, network_uses(cloud(network=network), names))


def test_a_compute_service_is_used_by_servers_and_migrations_and_while_it_reports() -> None:
    servers = [{"id": "1", "name": "web"}, {"id": "2", "name": ""}]
    states = ("finished", "confirmed", "running", "error", "done")
    migrations = [{"status": state, "instance_uuid": f"moved-{state}"} for state in states]
    there = cloud(Compute("up", servers=servers, migrations=migrations))
    names = ("nova-compute@node2", "nova-compute@node3")
    assert gathered(names, compute_uses(there, names)) == {
        "nova-compute@node2": [
            REPORTS,
            "server 2",
            "server web",
            "the migration of server moved-finished",
            "the migration of server moved-running",
        ],
        "nova-compute@node3": [],
    }
    unused = cloud(Compute())
    assert gathered(names, compute_uses(unused, names)) == {name: [] for name in names}


def test_a_migration_uses_a_compute_service_until_it_has_ended() -> None:
    """As Nova counts, which would refuse the deletion."""
    ended = ("confirmed", "reverted", "error", "failed", "completed", "cancelled", "done")
    lasting = ("queued", "preparing", "running", "post-migrating", "migrating", "finished", "accepted")
    migrations = [{"status": state, "instance_uuid": state} for state in (*ended, *lasting)]
    name = "nova-compute@node2"
    found = list(compute_uses(cloud(Compute(migrations=migrations)), [name]))
    assert found == [(name, f"the migration of server {state}") for state in lasting]


def test_a_compute_service_is_deleted_unless_it_reports_again() -> None:
    compute = Compute()
    forget_compute(cloud(compute), "nova-compute@node2")
    forget_compute(cloud(compute), "nova-compute@node2")
    assert set(compute.hosts) == {"node1"}
    compute = Compute("up")
    with pytest.raises(TransientError, match="it reports again"):
        forget_compute(cloud(compute), "nova-compute@node2")
    assert set(compute.hosts) == {"node1", "node2"}


def test_a_list_that_ignores_the_filters_deletes_no_other_agent() -> None:
    compute, network = Compute(), Network(l3_node1=(True, set()), l3_node3=(False, set()))
    computes, everything = compute.services("nova-compute", "node2"), network.agents([], "neutron-l3-agent")
    compute.services = lambda binary="", host="": computes  # type: ignore[method-assign]
    network.agents = lambda fields, binary="", host="": everything  # type: ignore[method-assign]
    there = cloud(compute, network)
    forget_compute(there, "nova-compute@node3")
    forget_network_agent(there, "neutron-l3-agent@node2")
    assert set(compute.hosts) == {"node1", "node2"} and network.writes == []
    assert list(compute_uses(there, ["nova-compute@node3"])) == []


def test_an_agent_is_used_while_it_reports_and_by_what_no_other_agent_can_take_over() -> None:
    names = ("neutron-l3-agent@node2", "neutron-dhcp-agent@node2", "neutron-openvswitch-agent@node2")
    alone = Network(l3_node2=(False, {"r"}), dhcp_node2=(False, {"n"}), openvswitch_node2=(True, set()))
    assert uses(alone, *names) == {
        names[0]: ["router r name, because no other neutron-l3-agent is up"],
        names[1]: ["network n name, because no other neutron-dhcp-agent is up"],
        names[2]: [REPORTS],
    }
    alone.kept |= {"l3_node1": (True, set()), "dhcp_node1": (True, set()), "openvswitch_node2": (False, set())}
    assert uses(alone, *names) == {name: [] for name in names}
    alone.disabled = {"l3_node1"}
    alone.kept["dhcp_node1"] = (False, set())
    assert list(map(bool, uses(alone, *names).values())) == [True, True, False]


def test_routers_move_to_the_agents_with_the_fewest_before_theirs_is_deleted() -> None:
    network = Network(
        l3_node1=(True, {"a"}), l3_node2=(False, {"b", "c", "d"}), l3_node3=(True, set()), l3_node4=(False, {"e"})
    )
    forget_network_agent(cloud(network=network), "neutron-l3-agent@node2")
    assert network.writes[-1] == "l3_node2 is deleted"
    hosted = {name: len(things) for name, (_, things) in network.kept.items()}
    assert hosted == {"l3_node1": 2, "l3_node3": 2, "l3_node4": 1}
    assert set[str]().union(*(things for _, things in network.kept.values())) == set("abcde")


def test_networks_move_to_the_agents_with_the_fewest() -> None:
    network = Network(dhcp_node1=(True, {"a"}), dhcp_node2=(False, {"b", "c", "d"}), dhcp_node3=(True, set()))
    forget_network_agent(cloud(network=network), "neutron-dhcp-agent@node2")
    assert {name: len(things) for name, (_, things) in network.kept.items()} == {"dhcp_node1": 2, "dhcp_node3": 2}


def test_a_router_that_lost_its_agent_in_a_crash_gets_one() -> None:
    network = Network("b", "dvr", l3_node1=(True, set()), l3_node2=(False, {"a"}))
    assert uses(network, "neutron-l3-agent@node2") == {"neutron-l3-agent@node2": []}
    forget_network_agent(cloud(network=network), "neutron-l3-agent@node2")
    assert network.kept == {"l3_node1": (True, {"a", "b"})}


def test_a_refused_router_returns_to_its_agent_and_delays_no_other_one() -> None:
    network = Network("z", l3_node1=(True, set()), l3_node2=(False, {"a", "b", "c"}))
    network.fails_at = {"l3_node1 gets b"}
    with pytest.raises(TransientError, match=r"^Neutron refuses to move router b name: "):
        forget_network_agent(cloud(network=network), "neutron-l3-agent@node2")
    assert network.kept == {"l3_node1": (True, {"a", "c", "z"}), "l3_node2": (False, {"b"})}
    network.fails_at = set()
    forget_network_agent(cloud(network=network), "neutron-l3-agent@node2")
    assert network.kept == {"l3_node1": (True, {"a", "b", "c", "z"})}


def test_a_router_that_cannot_return_either_gets_an_agent_later() -> None:
    network = Network(l3_node1=(True, set()), l3_node2=(False, {"a", "b"}))
    network.fails_at = {"l3_node1 gets a", "l3_node2 gets a"}
    for _ in range(2):
        with pytest.raises(TransientError, match=r"^Neutron refuses to move router a name: "):
            forget_network_agent(cloud(network=network), "neutron-l3-agent@node2")
        assert network.kept == {"l3_node1": (True, {"b"}), "l3_node2": (False, set())}
    network.fails_at = set()
    forget_network_agent(cloud(network=network), "neutron-l3-agent@node2")
    assert network.kept == {"l3_node1": (True, {"a", "b"})}


def test_a_router_returns_to_its_agent_if_neutron_stops_answering() -> None:
    network = Network(l3_node1=(True, set()), l3_node2=(False, {"a", "b"}))
    post = network.post

    def broken(path: str, json: dict[str, str]) -> Response:
        if "l3_node1" in path:
            raise ConnectFailure("connection refused")
        return post(path, json)

    network.post = broken  # type: ignore[method-assign]
    with pytest.raises(ConnectFailure):
        forget_network_agent(cloud(network=network), "neutron-l3-agent@node2")
    assert network.kept == {"l3_node1": (True, set()), "l3_node2": (False, {"a", "b"})}


def test_a_refused_network_delays_no_other_one() -> None:
    network = Network(dhcp_node1=(True, set()), dhcp_node2=(False, {"a", "b", "c"}))
    network.fails_at = {"dhcp_node1 gets a", "dhcp_node1 gets b"}
    with pytest.raises(TransientError, match=r"^Neutron refuses to move network a name, network b name: "):
        forget_network_agent(cloud(network=network), "neutron-dhcp-agent@node2")
    assert network.kept == {"dhcp_node1": (True, {"c"}), "dhcp_node2": (False, {"a", "b"})}


def test_a_router_in_high_availability_keeps_the_number_of_its_agents() -> None:
    """It gets the other agent before it leaves its own one."""
    network = Network(l3_node1=(True, {"ha"}), l3_node2=(False, {"ha"}))
    forget_network_agent(cloud(network=network), "neutron-l3-agent@node2")
    assert network.writes == ["l3_node2 loses ha", "l3_node2 is deleted"]
    network = Network(l3_node1=(True, {"ha"}), l3_node2=(False, {"ha"}), l3_node3=(True, {"a", "b"}))
    network.fails_at = {"l3_node3 gets ha"}
    with pytest.raises(TransientError, match="router ha name"):
        forget_network_agent(cloud(network=network), "neutron-l3-agent@node2")
    assert network.writes == []
    network.fails_at = set()
    forget_network_agent(cloud(network=network), "neutron-l3-agent@node2")
    assert network.writes == ["l3_node3 gets ha", "l3_node2 loses ha", "l3_node2 is deleted"]


def test_nothing_moves_to_an_agent_that_leaves_as_well() -> None:
    """It is alive until its service has not heard of it for a while."""
    leaving = [f"neutron-{program}-agent@node{node}" for program in ("l3", "dhcp") for node in (2, 3)]
    for program, name in ("l3", leaving[0]), ("dhcp", leaving[2]):
        hosted = {"1": (True, {"a"}), "2": (False, {"b", "c"}), "3": (True, set[str]())}
        network = Network(**{f"{program}_node{node}": each for node, each in hosted.items()})
        forget_network_agent(cloud(network=network), name, leaving)
        assert network.kept == {f"{program}_node1": (True, {"a", "b", "c"}), f"{program}_node3": (True, set())}
    alone = Network(l3_node2=(False, {"b"}), l3_node3=(True, set()))
    assert "router b name, because no other neutron-l3-agent is up" in uses(alone, *leaving[:2])[leaving[0]]
    with pytest.raises(TransientError, match="no other agent can take over 1"):
        forget_network_agent(cloud(network=alone), leaving[0], leaving)


def test_a_network_keeps_the_number_of_its_dhcp_servers_if_there_are_agents_for_them() -> None:
    three = Network(dhcp_node1=(True, {"a"}), dhcp_node2=(False, {"a"}), dhcp_node3=(True, set()))
    forget_network_agent(cloud(network=three), "neutron-dhcp-agent@node2")
    assert three.writes == ["dhcp_node3 gets a", "dhcp_node2 loses a", "dhcp_node2 is deleted"]
    two = Network(dhcp_node1=(True, {"a"}), dhcp_node2=(False, {"a", "b"}))
    forget_network_agent(cloud(network=two), "neutron-dhcp-agent@node2")
    assert two.kept == {"dhcp_node1": (True, {"a", "b"})}


@pytest.mark.parametrize("program", ["l3", "dhcp"])
def test_an_agent_whose_routers_or_networks_would_be_stranded_is_kept(program: str) -> None:
    network = Network(**{f"{program}_node2": (False, {"a"}), f"{program}_node1": (False, set())})
    with pytest.raises(TransientError, match="no other agent can take over 1"):
        forget_network_agent(cloud(network=network), f"neutron-{program}-agent@node2")
    assert network.writes == []
    network = Network(**{f"{program}_node2": (False, set())})
    forget_network_agent(cloud(network=network), f"neutron-{program}-agent@node2")
    assert network.writes == [f"{program}_node2 is deleted"]


def test_an_agent_that_reports_again_is_kept() -> None:
    network = Network(l3_node1=(True, set()), l3_node2=(True, {"a"}))
    with pytest.raises(TransientError, match="it reports again"):
        forget_network_agent(cloud(network=network), "neutron-l3-agent@node2")
    assert network.writes == []


def test_a_long_move_ends_with_its_time_and_is_continued() -> None:
    network = Network(l3_node1=(True, set()), l3_node2=(False, {"a"}))
    with pytest.raises(TransientError, match="it takes longer"):
        with_deadline(0.0, lambda: forget_network_agent(cloud(network=network), "neutron-l3-agent@node2"))
    assert network.writes == []


def forget(service: str, *names: str) -> DeleteAgents:
    look = Inventory(("openstack", f"{service}-inventory"), {}, service, names, ("openstack", "keystone-admin"))
    return DeleteAgents(look, names)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits of the agents, which take no time."""
    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr(agents, "asyncio", SimpleNamespace(sleep=sleep))
    return found


async def test_a_refusal_of_nova_is_reported_and_delays_no_other_agent(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    compute = Compute()
    compute.hosts["node3"] = "down"
    compute.refuses = {"node2"}
    monkeypatch.setattr(agents, "connect_as", lambda *_, **__: cloud(compute))
    action = forget("compute", "nova-compute@node2", "nova-compute@node3")
    refusal = {"nova-compute@node2": "Unable to delete compute service that is hosting instances."}
    assert await CloudAgents().forget(action, ADMIN) == refusal
    assert set(compute.hosts) == {"node1", "node2"}
    compute.refuses = set()
    assert await CloudAgents().forget(action, ADMIN) == {}
    assert set(compute.hosts) == {"node1"}
    with pytest.raises(TerminalError, match="lacks username"):
        await CloudAgents().forget(action, {})


@pytest.mark.parametrize(
    ("service", "name", "listing"),
    [
        ("networking", "neutron-l3-agent@node2", lambda: Network(l3_node2=(False, set()), l3_node1=(True, set()))),
        ("compute", "nova-compute@node2", Compute),
    ],
)
async def test_one_answer_without_an_agent_does_not_forget_it(
    monkeypatch: pytest.MonkeyPatch, waits: list[float], service: str, name: str, listing: Any
) -> None:
    """A replica that has just started may answer a list with 200 and no items."""
    there = listing()
    made: list[Any] = []

    def connect(*_: Any, **__: Any) -> Any:
        made.append(cloud(there, there))
        return made[-1]

    monkeypatch.setattr(agents, "connect_as", connect)
    there.lists_nothing = 1
    assert await CloudAgents().forget(forget(service, name), ADMIN) == {name: f"{service} still lists it"}
    assert waits == [CONFIRM] and len(made) == 2, "another client, which another replica may answer"
    there.lists_nothing = 2
    assert await CloudAgents().forget(forget(service, name), ADMIN) == {name: f"{service} lists no agents at all"}
    assert await CloudAgents().forget(forget(service, name), ADMIN) == {}
    assert await CloudAgents().forget(forget(service, name), ADMIN) == {}, "it is absent already"


async def test_one_list_without_its_networks_does_not_strand_them(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    network = Network(dhcp_node1=(True, set()), dhcp_node2=(False, {"a"}))
    lists = network.dhcp_agent_hosting_networks
    wrong = [1]

    def hosting(agent: Agent) -> list[Any]:
        return [] if agent.id == "dhcp_node2" and wrong and wrong.pop() else lists(agent)

    network.dhcp_agent_hosting_networks = hosting  # type: ignore[method-assign]
    monkeypatch.setattr(agents, "connect_as", lambda *_, **__: cloud(network=network))
    assert await CloudAgents().forget(forget("networking", "neutron-dhcp-agent@node2"), ADMIN) == {}
    assert network.kept == {"dhcp_node1": (True, {"a"})}


async def test_agents_that_leave_together_take_nothing_over_from_each_other(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    """One of them is still alive, and has the fewest routers."""
    network = Network(l3_node1=(True, {"a"}), l3_node2=(False, {"b"}), l3_node3=(True, set()))
    monkeypatch.setattr(agents, "connect_as", lambda *_, **__: cloud(network=network))
    names = ("neutron-l3-agent@node2", "neutron-l3-agent@node3")
    assert await CloudAgents().forget(forget("networking", *names), ADMIN) == {names[1]: "it reports again"}
    assert network.kept == {"l3_node1": (True, {"a", "b"}), "l3_node3": (True, set())}


async def test_the_internal_endpoints_of_the_region_are_asked(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    asked: list[Any] = []

    def connect(admin: Any, region: str, **more: Any) -> Any:
        asked.append((region, {name: given for name, given in more.items() if given}))
        return cloud(Compute())

    monkeypatch.setattr(administrator, "connect", connect)
    for given in ({}, {"region_name": "two"}):
        await CloudAgents().forget(forget("compute", "nova-compute@node9"), ADMIN | given)
    internal = {"interface": "internal", "bounded": True}
    assert asked == [("RegionOne", internal)] * 2 + [("two", internal)] * 2


async def test_no_agent_is_forgotten_after_the_time_limit(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> None:
    compute, name = Compute(), "nova-compute@node2"
    monkeypatch.setattr(agents, "connect_as", lambda *_, **__: cloud(compute))
    monkeypatch.setattr(agents, "CALL_SECONDS", -1.0)
    assert "it takes longer" in (await CloudAgents().forget(forget("compute", name), ADMIN))[name]
    assert set(compute.hosts) == {"node1", "node2"}


async def test_a_service_that_does_not_answer_again_proves_nothing(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    def fails(_: Any) -> list[Any]:
        raise ConnectFailure("connection refused")

    compute = Compute()
    monkeypatch.setattr(agents, "connect_as", lambda *_, **__: cloud(compute))
    monkeypatch.setitem(agents.APIS, "compute", replace(agents.APIS["compute"], every=fails))
    name = "nova-compute@node2"
    assert await CloudAgents().forget(forget("compute", name), ADMIN) == {name: "connection refused"}
