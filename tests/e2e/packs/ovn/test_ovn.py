"""A cloud with OVN: its virtual machine, its checks, and restarts of each component."""

from __future__ import annotations

import json
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor

import ovn
import pytest
from faults.restarts import SWITCH, restart_each
from full import FullCloud
from harness import eventually

from stackwright.local.steps.openstack import demo

REQUESTS = 6  # of an API with two workers
PARTS = ("neutron", "openvswitch", "ovn")


@pytest.fixture(autouse=True)
def _ready(ovn_cloud: FullCloud) -> None:
    """Runs after any state of an earlier test."""
    ovn_cloud.wait_ready()


def test_up_with_ovn_ends_with_a_vm_that_greets_by_its_floating_ip(ovn_cloud: FullCloud) -> None:
    cloud = ovn_cloud
    assert '"backend": "ml2/ovn"' in json.dumps(cloud.spec())
    assert "Virtual machine" in cloud.said
    eventually(lambda: demo.greets(cloud.demo_address), limit=120)
    assert not {each.name for each in cloud.workloads()} & {
        "neutron-ovs-agent",
        "neutron-l3-agent",
        "neutron-dhcp-agent",
    }


def test_smoke_passes_with_ovn(ovn_cloud: FullCloud) -> None:
    print(ovn_cloud.stackwright("smoke", limit=400))


def test_restarts_lose_no_ping_but_those_of_the_switch(ovn_cloud: FullCloud) -> None:
    """The userspace datapath forwards nothing while its process restarts; all other components only change it."""
    mine = [each for each in ovn_cloud.workloads() if any(f"application={part}" in each.selector for part in PARTS)]
    names = restart_each(ovn_cloud, ovn_cloud.demo_address, mine)
    assert names >= {"ovn-northd", "ovn-ovsdb", "ovn-controller", "neutron-server", SWITCH}


def test_an_outage_of_the_database_during_events_ends_no_service(ovn_cloud: FullCloud) -> None:
    """Each event of OVN needs Neutron's database. After an error there, requests hung once, and no probe noticed."""
    cloud = ovn_cloud
    nudge = "ovn-nbctl --db=unix:/tmp/nb.sock --no-leader-only set NB_Global . external_ids:stackwright-test="
    script = f"for i in $(seq 120); do {nudge}$i || exit 1; sleep 0.5; done"
    words = ("exec", "-n", cloud.namespace, "ovn-ovsdb-0", "-c", "nb", "--", "sh", "-c", script)
    before = set(cloud.pods("-l", "application=mariadb,component=server"))
    with ThreadPoolExecutor(1) as pool:
        events = pool.submit(cloud.kubectl, *words)
        for _ in range(2):
            cloud.kubectl("delete", "pod", "mariadb-server-0", "-n", cloud.namespace, "--grace-period=0", "--force")
            time.sleep(20)
        events.result()
    cloud.wait_ready()
    assert before and not before & set(cloud.pods("-l", "application=mariadb,component=server"))
    for number in range(REQUESTS):
        name = f"after-the-outage-{number}"
        for verb in ("create", "delete"):
            cloud.stackwright("shell", "--", "openstack", "network", verb, name, limit=60)


def refused(address: tuple[str, int], tls: bool) -> bool:
    """Whether a server ends a connection of a client without a certificate, and responds to no request."""
    try:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        plain = socket.create_connection(address, timeout=10)
        with plain, context.wrap_socket(plain) if tls else plain as connection:
            connection.sendall(b'{"method":"list_dbs","params":[],"id":1}')
            return not connection.recv(100)
    except (TimeoutError, ConnectionRefusedError):
        raise
    except OSError:
        return True


@pytest.mark.parametrize(("port", "tls"), [(port, tls) for port in range(6641, 6645) for tls in (False, True)])
def test_databases_refuse_clients_without_a_certificate(ovn_cloud: FullCloud, port: int, tls: bool) -> None:
    (pod,) = ovn_cloud.pods("-l", "application=ovn,component=ovsdb").values()
    assert refused((pod["status"]["podIP"], port), tls)


def test_lost_databases_are_restored_from_neutron(ovn_cloud: FullCloud) -> None:
    before = ovn.content(ovn_cloud)
    assert all(before.values())
    words = ("-n", ovn_cloud.namespace, "--wait=false")
    ovn_cloud.kubectl("delete", "pvc/ovn-data-ovn-ovsdb-0", "pod/ovn-ovsdb-0", *words)
    eventually(lambda: not any(ovn.content(ovn_cloud).values()), limit=120, pause=2)
    print(ovn_cloud.stackwright("restart", "networking", limit=660))
    assert ovn.content(ovn_cloud) == before
    assert not any("stackwright-restores" in text for text in ovn.external_ids(ovn_cloud))
    ovn_cloud.wait_ready()
    eventually(lambda: demo.greets(ovn_cloud.demo_address), limit=120, pause=2)
