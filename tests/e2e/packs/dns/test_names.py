"""Names: what the name server answers, whose zones they are, floating IPs, restarts, a lost database, a removal."""

from __future__ import annotations

import ipaddress
import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest
from full import FullCloud
from harness import eventually
from infra import PREFIX, member
from traffic.load import Load, targets
from vms import Vms

EXAMPLE = "examples/dns.yaml"
LIMIT = 180
ADDRESS = "192.0.2.7"
# Runs in a pod of the cloud: question, type, protocol → code and answers of the name server, through its Service.
ASK = """
import json, socket, sys
import dns.message, dns.opcode, dns.query, dns.rcode
name, type_, protocol = sys.argv[1:]
server = socket.gethostbyname("powerdns")
asked = dns.message.make_query(name, "SOA" if type_ == "NOTIFY" else type_)
if type_ == "NOTIFY":
    asked.set_opcode(dns.opcode.NOTIFY)
found = getattr(dns.query, protocol)(asked, server, timeout=5)
print(json.dumps([dns.rcode.to_text(found.rcode()), [each.to_text() for part in found.answer for each in part]]))
"""
KEYLESS = """
import requests
print(requests.get("http://powerdns:8081/api/v1/servers/localhost/zones", timeout=5).status_code)
"""


class Names:
    """Zones of the administrator's project."""

    def __init__(self, cloud: FullCloud, vms: Vms) -> None:
        self.cloud, self.vms = cloud, vms
        self.api: Any = vms.sdk.dns

    def zone(self, api: Any = None) -> Any:
        name = f"{PREFIX}{secrets.token_hex(4)}.example."
        return (api or self.api).create_zone(name=name, email=f"hostmaster@{name[:-1]}")

    def add(self, zone: Any, label: str) -> str:
        """The name of a new recordset with ADDRESS."""
        name = f"{label}.{zone.name}"
        self.api.create_recordset(zone, name=name, type="A", records=[ADDRESS], ttl=60)
        return name

    def active(self, zone: Any, limit: float = LIMIT) -> None:
        eventually(lambda: self.api.get_zone(zone.id).status == "ACTIVE", limit=limit, pause=1)

    def python(self, script: str, *words: str) -> str:
        """Output of a script in a worker, which has the libraries."""
        where = ("deploy/designate-worker", "-c", "designate-worker", "-n", self.cloud.namespace)
        return self.cloud.kubectl("exec", *where, "--", "python3", "-c", script, *words).strip()

    def ask(self, name: str, type_: str = "A", protocol: str = "udp") -> tuple[str, list[str]]:
        """Code and answers of the name server."""
        code, answers = json.loads(self.python(ASK, name, type_, protocol).splitlines()[-1])
        return str(code), list(answers)

    def answered(self, name: str, expected: list[str], type_: str = "A") -> None:
        eventually(lambda: self.ask(name, type_)[1] == expected, limit=LIMIT, pause=1)

    def unknown(self, path: str, **headers: str) -> int:
        """The status code of a request without a token."""
        url = self.vms.sdk.session.get_endpoint(service_type="dns", interface="public")
        assert url.startswith("https://designate.")
        session = self.vms.sdk.session.session
        address = url.rstrip("/").removesuffix("/v2") + path
        return int(session.get(address, headers=headers, verify=str(self.vms.ca), timeout=60).status_code)


@pytest.fixture(scope="module")
def dns_cloud(storage_cloud: FullCloud) -> Iterator[FullCloud]:
    with storage_cloud.changed_to(EXAMPLE) as made:
        yield made


@pytest.fixture(scope="module")
def names(dns_cloud: FullCloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Names]:
    """A client that logged in when the catalog had the service."""
    vms = Vms(dns_cloud, tmp_path_factory.mktemp("names"))
    made = Names(dns_cloud, vms)
    yield made
    for left in list(made.api.zones()):
        made.api.delete_zone(left.id)
    vms.sdk.close()


def test_smoke_tests_a_zone(dns_cloud: FullCloud, names: Names) -> None:
    assert "3 of 3 passed" in dns_cloud.stackwright("smoke", "--checks", "zone")  # with login and clean-up
    assert list(names.api.zones()) == []


def test_a_recordset_is_answered_by_the_name_server(names: Names) -> None:
    """It answers queries, and nothing else: neither transfers, nor notifications, nor its API without the key."""
    zone = names.zone()
    names.active(zone)
    www = names.add(zone, "www")
    names.answered(www, [ADDRESS])
    assert names.ask(www, protocol="tcp") == ("NOERROR", [ADDRESS])
    assert names.ask(zone.name, "NS") == ("NOERROR", ["ns1.cloud.example."])
    assert names.ask(f"none.{zone.name}")[0] == "NXDOMAIN"
    assert names.ask(zone.name, "AXFR", "tcp")[0] in ("NOTAUTH", "REFUSED")
    assert names.ask(zone.name, "NOTIFY")[0] == "REFUSED"
    assert names.python(KEYLESS) == "401"
    names.api.delete_zone(zone.id)
    eventually(lambda: names.ask(www)[0] == "REFUSED", limit=LIMIT, pause=1)


def test_a_zone_belongs_to_its_project(dns_cloud: FullCloud, names: Names) -> None:
    """Neither the headers that Keystone's middleware sets nor the role of another project open it."""
    zone = names.zone()
    names.active(zone)
    project = str(names.vms.sdk.current_project_id)
    forged = {"X-Identity-Status": "Confirmed", "X-Project-Id": project, "X-Roles": "admin,member", "X-User-Id": "u"}
    assert names.unknown(f"/v2/zones/{zone.id}") == 401
    assert names.unknown(f"/v2/zones/{zone.id}", **forged) == 401
    assert names.unknown("/healthcheck") == 200
    with member(dns_cloud, names.vms) as (other, _):
        assert other.dns.get(f"/zones/{zone.id}").status_code == 404
        assert other.dns.delete(f"/zones/{zone.id}").status_code == 404
        assert other.dns.get("/zones", headers={"X-Auth-All-Projects": "true"}).status_code == 403
        below = {"name": f"below.{zone.name}", "email": "a@b.example"}
        assert other.dns.post("/zones", json=below).status_code == 403
        own = names.zone(other.dns)
        assert [each.id for each in other.dns.zones()] == [own.id]
        assert own.id not in {each.id for each in names.api.zones()}
        other.dns.delete_zone(own.id)
        eventually(lambda: list(other.dns.zones()) == [], limit=LIMIT, pause=1)
    assert names.api.get_zone(zone.id).status == "ACTIVE"


def test_a_floating_ip_has_a_name_and_a_reverse_record(names: Names) -> None:
    zone = names.zone()
    names.active(zone)
    network = names.vms.sdk.network
    public = network.find_network("public", ignore_missing=False)
    ip = network.create_ip(floating_network_id=public.id, dns_name="web", dns_domain=zone.name)
    try:
        address = str(ip.floating_ip_address)
        names.answered(f"web.{zone.name}", [address])
        reverse = f"{ipaddress.ip_address(address).reverse_pointer}."
        names.answered(reverse, [f"web.{zone.name}"], "PTR")
    finally:
        network.delete_ip(ip.id)
    names.answered(f"web.{zone.name}", [])
    names.answered(reverse, [], "PTR")


def test_no_name_is_lost_while_the_api_and_the_workers_restart(dns_cloud: FullCloud, names: Names) -> None:
    zone = names.zone()
    names.active(zone)
    found = [each for each in targets(dns_cloud) if each.workload.name == "designate-api"]
    programs = [f"deployment/designate-{name}" for name in ("api", "central", "worker", "mdns", "producer")]
    with Load(dns_cloud, found) as load:
        dns_cloud.kubectl("rollout", "restart", *programs, "-n", dns_cloud.namespace)
        added = [names.add(zone, f"host{number}") for number in range(10)]
        for program in programs:
            dns_cloud.kubectl("rollout", "status", program, "-n", dns_cloud.namespace, limit=LIMIT)
    assert load.result["failures"] == []
    for name in added:
        names.answered(name, [ADDRESS])
    names.active(zone)


def test_a_name_server_without_its_database_is_reported_and_loses_nothing(dns_cloud: FullCloud, names: Names) -> None:
    """Its account is locked. Zones that users create meanwhile are published when the database is back."""

    def told() -> str:
        found = dns_cloud.condition("Ready", "designate/designate")
        return f"{found['status']} {found['reason']} {found['message']}"

    before = names.zone()
    names.active(before)
    www = names.add(before, "www")
    names.answered(www, [ADDRESS])
    dns_cloud.sql("ALTER USER 'powerdns'@'%' ACCOUNT LOCK; KILL CONNECTION USER powerdns")
    try:
        eventually(lambda: names.ask(www)[0] == "SERVFAIL", limit=60, pause=1)
        eventually(lambda: told().startswith("False") and "powerdns" in told(), limit=LIMIT, pause=2)
        meanwhile = names.zone()
        eventually(lambda: "PowerDNS waits for its database" in told(), limit=420, pause=2)
    finally:
        dns_cloud.sql("ALTER USER 'powerdns'@'%' ACCOUNT UNLOCK")
    dns_cloud.wait_ready(limit=600)
    names.answered(www, [ADDRESS])
    names.active(meanwhile, limit=420)
    names.answered(names.add(meanwhile, "www"), [ADDRESS])


def test_a_service_that_is_removed_and_added_still_has_its_zones(
    storage_cloud: FullCloud, dns_cloud: FullCloud, names: Names
) -> None:
    """The plan says that names do not resolve. Databases stay; the key and the addresses of Services do not."""
    zone = names.zone()
    names.active(zone)
    www = names.add(zone, "www")
    names.answered(www, [ADDRESS])
    assert "names do not resolve until" in " ".join(storage_cloud.plan().split())
    try:
        storage_cloud.change()
        eventually(
            lambda: dns_cloud.traces("openstack", "designate-api", "designate-worker") == [], limit=LIMIT, pause=1
        )
        assert {"designate", "powerdns"} <= set(dns_cloud.sql("show databases").split())
    finally:
        dns_cloud.change()
    names.answered(www, [ADDRESS])
    names.answered(names.add(zone, "later"), [ADDRESS])
