"""A cloud with OVN: its virtual machine, its checks, and restarts of each component."""

from __future__ import annotations

import json
import socket
import ssl

import ovn
import pytest
from full import FullCloud
from harness import eventually
from traffic.pinger import Pinger

from stackwright.local.steps.openstack import demo

# Workload → seconds without a response that its restart may cause. The userspace datapath forwards nothing while its
# process restarts; all other components only change it.
RESTARTS = {
    "deployment/ovn-northd": 1.5,
    "statefulset/ovn-ovsdb": 1.5,
    "daemonset/ovn-controller": 1.5,
    "deployment/neutron-server": 1.5,
    "deployment/neutron-ovn-maintenance-worker": 1.5,
    "daemonset/neutron-ovn-metadata-agent": 1.5,
    "daemonset/openvswitch": 15.0,
}


@pytest.fixture(autouse=True)
def _ready(ovn_cloud: FullCloud) -> None:
    """Runs after any state of an earlier test."""
    ovn_cloud.wait_ready()


def test_up_with_ovn_ends_with_a_vm_that_greets_by_its_floating_ip(ovn_cloud: FullCloud) -> None:
    cloud = ovn_cloud
    assert '"backend": "ml2/ovn"' in json.dumps(cloud.spec())
    assert "Virtual machine" in cloud.said
    eventually(lambda: demo.greets(ovn.demo_address(cloud)), limit=120)
    assert not {each.name for each in cloud.workloads()} & {
        "neutron-ovs-agent",
        "neutron-l3-agent",
        "neutron-dhcp-agent",
    }


def test_smoke_passes_with_ovn(ovn_cloud: FullCloud) -> None:
    print(ovn_cloud.stackwright("smoke", limit=400))


@pytest.mark.parametrize("workload", RESTARTS)
def test_a_restart_keeps_the_data_plane(ovn_cloud: FullCloud, workload: str) -> None:
    with Pinger(ovn.demo_address(ovn_cloud)) as pinger:
        ovn_cloud.kubectl("rollout", "restart", workload, "-n", ovn_cloud.namespace)
        ovn_cloud.kubectl("rollout", "status", workload, "-n", ovn_cloud.namespace, limit=300)
        mark = pinger.mark()
        eventually(lambda: pinger.mark() > mark + 10, limit=60, pause=0.5)
    print(f"{workload}: longest time without a response {pinger.gap():.1f} s, {pinger.lost()} pings lost")
    assert pinger.gap() < RESTARTS[workload] + 0.5


def refused(address: tuple[str, int], tls: bool) -> bool:
    """Whether a server ends a connection of a client without a certificate, and responds to no request."""
    try:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        plain = socket.create_connection(address, timeout=10)
        with plain, context.wrap_socket(plain) if tls else plain as connection:
            connection.sendall(b'{"method":"list_dbs","params":[],"id":1}')
            return not connection.recv(100)
    except TimeoutError:
        raise
    except OSError:
        return True


@pytest.mark.parametrize(("port", "tls"), [(6641, False), (6641, True), (6642, True), (6643, True)])
def test_databases_refuse_clients_without_a_certificate(ovn_cloud: FullCloud, port: int, tls: bool) -> None:
    (pod,) = ovn_cloud.pods("-l", "application=ovn,component=ovsdb").values()
    assert refused((pod["status"]["podIP"], port), tls)


def test_lost_databases_are_restored_from_neutron(ovn_cloud: FullCloud) -> None:
    before = ovn.switches(ovn_cloud)
    assert before
    words = ("-n", ovn_cloud.namespace, "--wait=false")
    ovn_cloud.kubectl("delete", "pvc/ovn-data-ovn-ovsdb-0", "pod/ovn-ovsdb-0", *words)
    eventually(lambda: ovn.switches(ovn_cloud) == set(), limit=120, pause=2)
    print(ovn_cloud.stackwright("restart", "networking", limit=660))
    eventually(lambda: ovn.switches(ovn_cloud) == before, limit=120, pause=2)
    ovn_cloud.wait_ready()
    eventually(lambda: demo.greets(ovn.demo_address(ovn_cloud)), limit=120, pause=2)
