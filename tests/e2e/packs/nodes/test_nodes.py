"""Nodes of one machine are isolated like machines, and directories that the pods of a node share stay on that node."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import CLI, Cloud, eventually

from stackwright.local.config import EXTERNAL_ADDRESS, Node
from stackwright.local.host import cgroups
from stackwright.local.node import namespaces, power

SHARED = ("/run/netns", "/run/openvswitch", "/var/lib/nova")
VM = "for group in /sys/fs/cgroup/*/openstack-vms/{0}; do echo $$ > $group/cgroup.procs; done; exec sleep 1000"


@pytest.fixture(scope="module")
def nodes(cloud: Cloud) -> Iterator[list[Node]]:
    cloud.stackwright("up", "--nodes", "2", limit=600)
    for name in ("agent", "viewer"):
        cloud.apply(daemon_set(cloud, name))
    for name in ("agent", "viewer"):
        cloud.kubectl("rollout", "status", f"daemonset/{name}", "-n", "default", "--timeout=90s")
    yield cloud.cluster.nodes(2)
    cloud.kubectl("delete", "daemonset", "agent", "viewer", "-n", "default", "--wait=true")
    cloud.stackwright("up", "--nodes", "1", "--yes", limit=600)


def daemon_set(cloud: Cloud, name: str) -> dict[str, Any]:
    """One pod per node that shares directories with others, as agents of OpenStack do."""
    mounts = [{"name": p.rpartition("/")[2], "mountPath": p, "mountPropagation": "Bidirectional"} for p in SHARED]
    volumes = [{"name": p.rpartition("/")[2], "hostPath": {"path": p, "type": "DirectoryOrCreate"}} for p in SHARED]
    container = {
        "name": "agent",
        "image": image(cloud),
        "command": ["sleep", "infinity"],
        "securityContext": {"privileged": True, "runAsUser": 0},
        "volumeMounts": [*mounts, {"name": "cgroup", "mountPath": "/sys/fs/cgroup"}],
    }
    pod = {
        "hostNetwork": True,
        "hostPID": True,
        "terminationGracePeriodSeconds": 1,
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [*volumes, {"name": "cgroup", "hostPath": {"path": "/sys/fs/cgroup"}}],
    }
    template = {"metadata": {"labels": {"app": name}}, "spec": pod}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec}


def image(cloud: Cloud) -> str:
    """An image with a shell and iproute2."""
    pods = cloud.get("pods", "-n", cloud.namespace, "-l", "application=mariadb")["items"]
    return str(pods[0]["spec"]["containers"][0]["image"])


def do(cloud: Cloud, node: Node, script: str, app: str = "agent") -> str:
    choice = ["-l", f"app={app}", "--field-selector", f"spec.nodeName={node.name}"]
    found = cloud.get("pods", "-n", "default", *choice)["items"]
    names = [pod["metadata"]["name"] for pod in found if "deletionTimestamp" not in pod["metadata"]]
    assert names, f"no pod of {app} on {node.name}"
    return cloud.kubectl("exec", "-n", "default", names[0], "--", "sh", "-ec", script).strip()


def test_each_node_has_its_host_name_and_directories(cloud: Cloud, nodes: list[Node]) -> None:
    for node in nodes:
        do(cloud, node, "hostname > /run/openvswitch/who; hostname > /var/lib/nova/who")
    for node in nodes:
        read = "hostname; cat /run/openvswitch/who /var/lib/nova/who"
        assert do(cloud, node, read, "viewer").split() == [node.name] * 3
    assert not Path("/run/openvswitch/who").exists()
    assert not Path("/var/lib/nova/who").exists()


def test_a_network_namespace_is_seen_by_pods_of_its_node_only(cloud: Cloud, nodes: list[Node]) -> None:
    one, two = nodes
    do(cloud, one, "ip netns add qrouter-test; ip netns exec qrouter-test ip link set lo up")
    assert "state UNKNOWN" in do(cloud, one, "ip netns exec qrouter-test ip link show lo", "viewer")
    assert do(cloud, two, "ip netns list", "viewer") == ""
    assert not Path("/run/netns/qrouter-test").exists()
    do(cloud, one, "ip netns del qrouter-test", "viewer")
    assert do(cloud, one, "ip netns list") == ""


def test_nodes_talk_over_the_tunnel_and_the_machine_is_on_the_external_network(cloud: Cloud, nodes: list[Node]) -> None:
    one, two = nodes
    answer = do(cloud, two, f"bash -c 'exec 3<>/dev/tcp/{one.tunnel_address}/9' 2>&1 || true")
    assert "Connection refused" in answer, "reached, though nobody listens there"
    route = json.loads(do(cloud, two, f"ip -json route get {one.tunnel_address}"))[0]
    assert (route["dev"], route["prefsrc"]) == ("tunnel0", two.tunnel_address)
    do(cloud, one, "ip link add br-test type bridge; ip link set ext0 master br-test; ip link set br-test up")
    do(cloud, one, "ip address add 172.24.4.200/24 dev br-test")
    try:
        eventually(lambda: refused("172.24.4.200"), limit=10)
        assert EXTERNAL_ADDRESS in do(cloud, one, "ip neighbour show dev br-test")
    finally:
        do(cloud, one, "ip link del br-test")


def test_nodes_reach_the_outside(cloud: Cloud, nodes: list[Node]) -> None:
    """The outside is a namespace that is connected only with the machine."""

    def ip(*words: str, check: bool = True) -> None:
        subprocess.run(["ip", *words], check=check, capture_output=True)

    ip("netns", "add", "swt-outside")
    try:
        ip("link", "add", "swt-link", "type", "veth", "peer", "name", "eth0", "netns", "swt-outside")
        ip("address", "add", "198.18.0.1/24", "dev", "swt-link")
        ip("link", "set", "swt-link", "up")
        ip("-n", "swt-outside", "address", "add", "198.18.0.2/24", "dev", "eth0")
        ip("-n", "swt-outside", "link", "set", "eth0", "up")
        for node in nodes:
            answer = do(cloud, node, "timeout 10 bash -c 'exec 3<>/dev/tcp/198.18.0.2/9' 2>&1 || true")
            assert "Connection refused" in answer, "reached, though nobody listens there"
    finally:
        ip("netns", "del", "swt-outside", check=False)


def refused(address: str) -> bool:
    """Whether the host rejects the connection, because the port is closed."""
    try:
        socket.create_connection((address, 9), timeout=1).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def test_a_virtual_machine_outlives_its_pod_and_ends_with_its_node(cloud: Cloud, nodes: list[Node]) -> None:
    node = nodes[1]
    do(cloud, node, "touch /run/openvswitch/pid /var/lib/nova/disk")
    do(cloud, node, f"sh -c '{VM.format(node.name)}' > /dev/null 2>&1 &")
    eventually(lambda: len(cgroups.processes(node.vm_cgroup)) == 1, limit=10)
    vm = cgroups.processes(node.vm_cgroup)
    cloud.kubectl("delete", "pod", "-n", "default", "-l", "app=agent", "--force")
    cloud.kubectl("rollout", "status", "daemonset/agent", "-n", "default", "--timeout=90s")
    assert cgroups.processes(node.vm_cgroup) == vm
    assert "1 processes of virtual machines" in cloud.stackwright("doctor", code=None)
    power.cut(cloud.cluster, node)
    assert not cgroups.processes(node.cgroup) | cgroups.processes(node.vm_cgroup)
    power.on(cloud.cluster, node, nodes)
    written = "test -e /var/lib/nova/disk; test ! -e /run/openvswitch/pid; hostname"
    eventually(lambda: do(cloud, node, written) == node.name, limit=120, pause=1)


def test_a_second_up_leaves_pods_alone(cloud: Cloud, nodes: list[Node]) -> None:
    eventually(lambda: calm(cloud), limit=180)  # after the power cut
    before = started(cloud)
    cloud.stackwright("up", "--nodes", "2", limit=600)
    assert started(cloud) == before


def calm(cloud: Cloud) -> bool:
    """Whether no container restarts for ten seconds."""
    before = started(cloud)
    time.sleep(10)
    return started(cloud) == before


def started(cloud: Cloud) -> dict[str, str]:
    """Running containers by pod and name."""
    found = {}
    for pod in cloud.get("pods", "--all-namespaces", "--field-selector", "status.phase=Running")["items"]:
        for status in pod["status"]["containerStatuses"]:
            found[f"{pod['metadata']['name']}/{status['name']}"] = status.get("containerID", "")
    return found


def test_a_node_with_deleted_namespaces_starts_again(cloud: Cloud, nodes: list[Node]) -> None:
    node = nodes[1]
    namespaces.remove(node)
    cloud.stackwright("up", "--nodes", "2", limit=600)
    assert namespaces.ready(node)
    eventually(lambda: do(cloud, node, "hostname", "viewer") == node.name, limit=120, pause=1)


def test_an_up_that_is_killed_while_a_node_is_made_resumes(cloud: Cloud, nodes: list[Node]) -> None:
    node = nodes[1]
    for pause in (0.3, 0.5, 0.7):
        power.cut(cloud.cluster, node)
        up = subprocess.Popen([CLI, "up", "--nodes", "2"], stdout=subprocess.DEVNULL)
        time.sleep(pause)
        up.send_signal(signal.SIGKILL)
        up.wait()
    cloud.stackwright("up", "--nodes", "2", limit=600)
    eventually(lambda: do(cloud, node, "hostname", "viewer") == node.name, limit=120, pause=1)
