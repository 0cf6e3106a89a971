"""Allowed connections: network policies of a whole cloud, compared with the charts."""

import dataclasses
import functools
import re

import pytest
import yaml

from stackwright.api.services.kinds import ServiceSpec
from stackwright.services.connections import CONNECTIONS, Connection, egress, policies
from stackwright.services.context import COMPUTE, GATEWAY, OPENVSWITCH, Context, NodeRef
from stackwright.services.registry import SERVICES
from support.paths import GOLDEN

CHARTS = GOLDEN / "charts"
# A MariaDB takes them only while it gets its data from another one.
TRANSFERS = {4444, 4568}
NODES = {
    "=".join(COMPUTE): (NodeRef("one", "10.0.0.1"), NodeRef("two", "fd00::2"), NodeRef("new", "")),
    "=".join(OPENVSWITCH): (NodeRef("one", "10.0.0.1"),),
    "=".join(GATEWAY): (),
}
DNS = [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]
OURS = [chart.name for declared in SERVICES for chart in declared.charts]


def context(nodes=NODES):
    return Context("x", "openstack", ServiceSpec(), {}, nodes=nodes)


def test_the_policies_of_a_core_cloud_are_as_they_were_reviewed(golden):
    found = {chart: policies(context(), chart) for chart in sorted(OURS)}
    golden("values/policies.yaml", yaml.safe_dump(found, sort_keys=True, width=120))


@functools.cache
def rendered(chart):
    """(kind, component) → texts of all objects in the golden cases of a chart."""
    found = {}
    for path in sorted(CHARTS.glob(f"{chart}/*/rendered.yaml")):
        for text in path.read_text().split("\n---\n"):
            kind = re.search(r"^kind: (\w+)$", text, re.MULTILINE)
            component = re.search(r"^    component: (\S+)$", text, re.MULTILINE)
            if kind and component:
                found.setdefault((kind[1], component[1]), []).append(text)
    return found


def pods(chart, component):
    return [text for kind in ("Deployment", "StatefulSet") for text in rendered(chart).get((kind, component), ())]


@pytest.mark.parametrize("connection", CONNECTIONS, ids=lambda c: f"{c.application}-{c.component}")
def test_each_connection_goes_to_an_existing_component(connection):
    """A rule for a misspelt component or port would let everything or nothing through without a word."""
    assert connection.application in OURS
    found = pods(connection.application, connection.component)
    assert found
    ports = {int(port) for text in found for port in re.findall(r"containerPort: (\d+)", text)}
    assert set(connection.ports) <= ports | TRANSFERS


@pytest.mark.parametrize(("application", "component"), sorted({(c.application, c.component) for c in CONNECTIONS}))
def test_each_port_of_a_component_has_a_permitted_client(application, component):
    declared = {int(p) for text in pods(application, component) for p in re.findall(r"containerPort: (\d+)", text)}
    rules = [c for c in CONNECTIONS if (c.application, c.component) == (application, component)]
    every = any(rule.sources and not rule.ports for rule in rules)
    assert every or declared <= {port for rule in rules for port in rule.ports}


@pytest.mark.parametrize("connection", CONNECTIONS, ids=lambda c: f"{c.application}-{c.component}")
def test_each_connection_comes_from_existing_applications(connection):
    assert {source for source in connection.sources if isinstance(source, str)} <= {*OURS, "operator"}


def test_every_deployment_and_statefulset_is_in_the_table():
    told = {(connection.application, connection.component) for connection in CONNECTIONS}
    made = {
        (chart, component)
        for chart in OURS
        for kind, component in rendered(chart)
        if kind in ("Deployment", "StatefulSet")
    }
    assert len(made) > 15
    assert made <= told, "what is not in the table takes everything"


def calls(application, port):
    return any(application in c.sources and port in c.ports for c in CONNECTIONS)


def test_clients_that_use_keystone_or_name_an_address_may_connect():
    """Clients with the administrator's clouds.yaml set up their own API; addresses are in configuration files."""
    listening = {port: c.application for c in CONNECTIONS for port in c.ports}
    apis = {c.application: c.ports for c in CONNECTIONS if "ingress" in c.sources and c.component != "novncproxy"}
    wanted = {("keystoneclient", *ports) for ports in apis.values() if ports != apis["horizon"]}
    # A user's browser is sent there, through the ingress or by itself.
    browsers = {("nova", 6080)}
    for path in CHARTS.glob("*/*/rendered.yaml"):
        chart = path.parents[1].name
        for text in path.read_text().split("\n---\n"):
            if re.search(r"mountPath: /etc/openstack\b(?!-)", text):
                wanted |= {(chart, 5000), (chart, *apis.get(chart, (5000,)))}
            ports = re.findall(r"(?:https?://|tcp:)[\w.$()-]+:(\d+)", text)
            wanted |= {(chart, int(port)) for port in ports if int(port) in listening} - browsers
    assert len(wanted) > 12
    assert {each for each in wanted if not calls(*each)} == set()


def test_the_dashboard_reaches_every_api_for_users():
    apis = {(c.application, c.ports) for c in CONNECTIONS if "ingress" in c.sources}
    machines = ((6080,), (8000,))  # consoles of virtual machines, and their signals to stacks
    others = {(name, ports) for name, ports in apis if name != "horizon" and ports not in machines}
    assert len(others) > 5
    assert {name for name, ports in others if not calls("horizon", *ports)} == set()


def test_pods_in_their_nodes_network_are_named_by_the_addresses_of_their_nodes():
    (rule,) = policies(context(), "nova")["api-metadata"]
    assert rule["from"] == [{"ipBlock": {"cidr": "10.0.0.1/32"}}, {"ipBlock": {"cidr": "fd00::2/128"}}]
    assert rule["ports"] == [{"port": 8775, "protocol": "TCP"}]


def test_only_a_pod_of_the_operators_namespace_is_the_operator():
    """Any other namespace may have pods with the same labels."""
    elsewhere = dataclasses.replace(context(), operator="operators")
    rules = [rule for chart in OURS for found in policies(elsewhere, chart).values() for rule in found]
    foreign = [peer for rule in rules for peer in rule.get("from", ()) if "namespaceSelector" in peer]
    assert len(foreign) > 5
    for peer in foreign:
        assert peer == {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "operators"}},
            "podSelector": {"matchLabels": {"application": "stackwright", "component": "operator"}},
        }


def test_without_nodes_a_policy_permits_no_address():
    """An empty list of peers would mean all of them."""
    assert policies(context({}), "nova")["api-metadata"] == []
    rules = [rule for chart in OURS for found in policies(context({}), chart).values() for rule in found]
    assert rules
    assert [rule["ports"] for rule in rules if not rule.get("from")] == [DNS], "only the name server answers anybody"


def test_charts_that_the_table_does_not_name_have_no_policy():
    assert policies(context(), "openvswitch") == {}


def test_a_confined_chart_opens_the_connections_that_others_accept_from_it_and_asks_dns():
    (heat,) = [chart for declared in SERVICES for chart in declared.charts if chart.name == "heat"]
    found = egress(heat)
    assert found.keys() == {"api", "cfn", "engine"}
    dns, *rules = found["engine"]
    assert dns == {"ports": DNS[::-1]}
    opened = {
        (peer["podSelector"]["matchLabels"]["application"], port["port"])
        for rule in rules
        for peer in rule["to"]
        for port in rule["ports"]
    }
    accepted = {
        (chart, port["port"])
        for chart in OURS
        for accepting in policies(context(), chart).values()
        for rule in accepting
        if {"podSelector": {"matchLabels": {"application": "heat"}}} in rule.get("from", ())
        for port in rule["ports"]
    }
    assert opened == accepted
    assert {"mariadb", "rabbitmq", "memcached", "keystone", "nova", "neutron", "glance"} <= {name for name, _ in opened}


def test_each_rule_of_a_confined_chart_names_pods_and_ports_but_for_dns():
    """A rule without them would permit everything."""
    for chart in (chart for declared in SERVICES for chart in declared.charts):
        for _, *rules in egress(chart).values():
            assert all(rule["to"] and rule["ports"] for rule in rules)


def test_a_listener_of_udp_alone_opens_only_its_ports() -> None:
    assert Connection("a", "b", (), (), (53,), anyone=True).rule == {"ports": [{"port": 53, "protocol": "UDP"}]}
    assert Connection("a", "b", (), ()).rule == {}, "all ports"
