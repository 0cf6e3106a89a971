"""Values and contracts of Designate and PowerDNS, derived from a cloud; and what Neutron gets."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from stackwright.api.services.contracts import DatabaseAccountSpec, KeystoneServiceSpec
from stackwright.api.services.kinds import ServiceSpec, Size
from stackwright.services import designate, neutron
from stackwright.services.connections import egress, policies
from stackwright.services.context import Context, Values
from stackwright.services.declaration import Service
from stackwright.services.designate import values as designate_values
from stackwright.services.designate.features import DesignateFeatures
from stackwright.services.neutron.values import PORT, SERVER
from stackwright.services.registry import PRESETS
from tests.unit.controllers.builders import NAMESPACE

SIZES: tuple[Size, ...] = ("single", "tiny", "small", "medium")


def context(
    size: Size = "single", declared: Service = designate.SERVICE, domain: str = "cloud.example", **settings: object
) -> Context:
    spec = ServiceSpec(size=size, public_domain=domain, storage_class="local", region="Here")
    return Context(declared.name, NAMESPACE, spec, {}, declared.settings.model_validate(settings))


def values(chart: int = 0, size: Size = "single", **settings: object) -> Values:
    return designate.SERVICE.charts[chart].values(context(size, **settings))


def specs(kind: str) -> list[Any]:
    return [each.spec for each in designate.SERVICE.contracts(context(ingress=True)) if each.kind.kind == kind]


def test_no_preset_contains_it() -> None:
    assert not any("dns" in services for services in PRESETS.values())


def test_the_catalog_has_it_and_its_user_only_validates_tokens() -> None:
    (found,) = specs("KeystoneService")
    spec = KeystoneServiceSpec.model_validate(found)
    assert (spec.service_name, spec.service_type, spec.username) == ("designate", "dns", "designate")
    assert spec.endpoints.internal == f"http://designate-api.{NAMESPACE}.svc.cluster.local:9001"
    assert spec.endpoints.public == "https://designate.cloud.example"
    assert spec.roles == ["service"]


def test_each_program_has_a_database_of_its_own() -> None:
    own, servers = (DatabaseAccountSpec.model_validate(each) for each in specs("DatabaseAccount"))
    assert (own.database, own.section) == ("designate", "storage:sqlalchemy")
    assert (servers.database, servers.username, servers.section) == ("powerdns", "powerdns", "database")
    assert own.secret_name == values()["secrets"]["oslo_db"]["designate"]
    assert servers.secret_name == values(1)["secrets"]["oslo_db"]["powerdns"]


def test_both_charts_use_the_same_ports_and_key() -> None:
    one, other = values(), values(1)
    assert one["endpoints"]["powerdns"] == other["endpoints"]["powerdns"]
    assert one["endpoints"]["mdns"] == other["endpoints"]["mdns"]
    (key,) = designate.SERVICE.secrets(context())
    assert key.name == one["secrets"]["powerdns"] == other["secrets"]["api"]
    assert (key.generated, key.templates) == (("key",), {})


@pytest.mark.parametrize("size", SIZES)
def test_every_pod_of_a_cloud_with_several_nodes_has_another_one(size: Size) -> None:
    replicas = {**values(size=size)["pod"]["replicas"], **values(1, size=size)["pod"]["replicas"]}
    assert set(replicas) == {"api", "central", "mdns", "producer", "worker", "server"}
    assert min(replicas.values()) >= (1 if size == "single" else 2)
    assert values(size=size)["conf"]["designate_api_uwsgi"]["uwsgi"]["processes"] > 1, "a probe needs a process"


def test_floating_ips_are_asked_inside_of_the_cluster() -> None:
    found = values()["conf"]["designate"]["network_api:neutron"]
    assert found["endpoints"] == [f"Here|http://{SERVER}.{NAMESPACE}.svc.cluster.local:{PORT}"]


def test_processes_share_their_locks_by_etcd() -> None:
    assert values()["conf"]["designate"]["coordination"]["backend_url"].startswith("etcd3+https://etcd.")
    (certificate,) = designate.SERVICE.certificates(context())
    assert certificate.name == values()["secrets"]["tls"]["etcd"]
    assert designate.SERVICE.requires
    assert "coordination" in designate.SERVICE.requires(context().settings)


@pytest.mark.parametrize(
    ("names", "expected"),
    [([], ["ns1.cloud.example."]), (["a.example", "b.example."], ["a.example.", "b.example."])],
)
def test_zones_have_the_names_of_the_servers(names: list[str], expected: list[str]) -> None:
    assert values(backend={"name_servers": names})["conf"]["pool"]["ns_records"] == expected


def test_clients_outside_of_the_cluster_need_a_field() -> None:
    inside = values(1)["network"]
    assert inside == {"public": {"protocols": [], "address": ""}, "host_port": {"dns": None}}
    public = values(1, backend={"type": "powerdns", "external_ip": "192.0.2.53"})["network"]["public"]
    assert public == {"protocols": ["TCP", "UDP"], "address": "192.0.2.53"}
    udp = values(1, backend={"protocol": "udp", "external_ip": "192.0.2.53"})["network"]["public"]
    assert udp["protocols"] == ["UDP"]
    assert values(1, backend={"on_nodes": True})["network"]["host_port"] == {"dns": 53}


@pytest.mark.parametrize(
    ("backend", "error"),
    [
        ({"type": "bind9"}, "Input should be 'powerdns'"),
        ({"protocol": "sctp", "external_ip": "192.0.2.53"}, "Input should be 'udp', 'tcp' or 'tcp\\+udp'"),
        ({"protocol": "udp"}, "protocol: only with external_ip"),
        ({"external_ip": "everywhere"}, "external_ip"),
        ({"name_servers": ["ns1"]}, "must be a DNS name with at least two labels"),
        ({"name_servers": ["ns1.example. 600 IN A 192.0.2.1"]}, "must be a DNS name"),
        ({"name_servers": ["ns1.example", "ns1.example."]}, "names must differ"),
        ({"zone": "example"}, "Extra inputs"),
    ],
)
def test_wrong_fields_are_rejected(backend: dict[str, object], error: str) -> None:
    with pytest.raises(ValidationError, match=error):
        DesignateFeatures.model_validate({"backend": backend})


def test_only_queries_come_from_anybody() -> None:
    (queries, api) = policies(context(), "powerdns")["server"]
    assert queries == {"ports": [{"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}
    assert api["ports"] == [{"port": 8081, "protocol": "TCP"}]
    assert api["from"] == [{"podSelector": {"matchLabels": {"application": "designate"}}}]
    (transfers,) = policies(context(), "designate")["mdns"]
    assert transfers["from"] == [{"podSelector": {"matchLabels": {"application": "powerdns"}}}]
    assert {port["protocol"] for port in transfers["ports"]} == {"TCP", "UDP"}


def test_a_name_server_reaches_its_database_and_mdns_only() -> None:
    _, *rules = egress(designate.SERVICE.charts[1])["server"]
    reached = {peer["podSelector"]["matchLabels"]["application"] for rule in rules for peer in rule["to"]}
    assert reached == {"mariadb", "designate"}


# --- Neutron


def neutron_conf(backend: str, *services: str, domain: str = "cloud.example") -> Values:
    there = context("single", neutron.SERVICE, domain, services=list(services), backend=backend)
    return dict(neutron.SERVICE.charts[0].values(there)["conf"])


@pytest.mark.parametrize("backend", ["ml2", "ml2/ovn"])
def test_neutron_publishes_names_in_a_cloud_with_the_service(backend: str) -> None:
    conf = neutron_conf(backend, "dns")
    default = conf["neutron"]["DEFAULT"]
    assert default["external_dns_driver"] == "designate"
    assert default["dns_domain"] == "internal.cloud.example.", "with the default domain, Neutron publishes no names"
    assert default["service_plugins"][0] == ("router" if backend == "ml2" else "ovn-router")
    assert conf["neutron"]["designate"] == {
        "url": f"http://designate-api.{NAMESPACE}.svc.cluster.local:{designate_values.PORT}/v2",
        "allow_reverse_dns_lookup": True,
    }
    assert conf["plugins"]["ml2_conf"]["ml2"]["extension_drivers"] == ["port_security", "dns_domain_ports"]
    assert neutron_conf(backend, "dns", domain="")["neutron"]["DEFAULT"]["dns_domain"] == "internal.cloud."


@pytest.mark.parametrize("backend", ["ml2", "ml2/ovn"])
def test_neutron_is_as_before_in_a_cloud_without_it(backend: str) -> None:
    conf = neutron_conf(backend)
    assert "designate" not in conf["neutron"]
    assert not {"external_dns_driver", "dns_domain"} & conf["neutron"]["DEFAULT"].keys()
    assert "extension_drivers" not in conf["plugins"]["ml2_conf"]["ml2"]


def test_neutron_has_the_login_before_it_needs_it() -> None:
    """Its pods read it only at their start."""
    (found,) = [
        each.spec
        for each in neutron.SERVICE.contracts(context("single", neutron.SERVICE))
        if each.kind.kind == "KeystoneService"
    ]
    assert "designate" in found["sections"]
