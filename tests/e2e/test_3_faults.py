"""Things die; the status says what died, and it comes back by itself with nothing lost."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from harness import SMALL, Cloud, eventually

from stackwright.local import tools


def processes(name: str) -> list[int]:
    """Process ids by the name of the program, inside our own cgroup only."""
    found = []
    for line in subprocess.run(["pgrep", "-x", name], capture_output=True, text=True).stdout.split():
        cgroup = Path(f"/proc/{line}/cgroup")
        if cgroup.exists() and "/stackwright" in cgroup.read_text():
            found.append(int(line))
    return found


def kill(name: str) -> None:
    found = processes(name)
    assert found, f"no process {name}"
    for process in found:
        os.kill(process, signal.SIGKILL)


AT_ONCE = """
import concurrent.futures, time, openstack, requests
cloud = openstack.connect()
url, headers = cloud.config.get_auth_args()["auth_url"], {"X-Auth-Token": cloud.session.get_token()}

def ask(path=""):
    try:
        return requests.get(url + path, headers=headers, timeout=30).status_code
    except requests.ConnectionError:
        return 0

print("begin", flush=True)
end = time.monotonic() + 100
while ask() == 200 and time.monotonic() < end:
    time.sleep(0.02)
while ask() != 200 and time.monotonic() < end:
    time.sleep(0.02)
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(*pool.map(ask, 16 * ["/projects"]))
"""


def health(cloud: Cloud, application: str, component: str) -> dict[str, str]:
    return dict(cloud.osdpl()["status"]["health"][application][component])


def test_a_deleted_pod_shows_in_health_at_once_and_heals(cloud: Cloud) -> None:
    cloud.kubectl("delete", "pod", "memcached-0", "-n", "openstack", "--wait=false")
    shown = eventually(lambda: health(cloud, "memcached", "server")["status"] == "Unhealthy", limit=20, pause=0.1)
    assert shown < 10
    eventually(lambda: health(cloud, "memcached", "server")["status"] == "Ready", limit=60)
    cloud.wait_ready()


def test_mariadb_that_is_killed_comes_back_with_its_data(cloud: Cloud) -> None:
    project = cloud.token()["project_id"]
    kill("mariadbd")
    eventually(lambda: cloud.token()["project_id"] == project, limit=120, pause=1)
    cloud.wait_ready()


def test_mariadb_that_stays_away_is_named_as_the_cause(cloud: Cloud) -> None:
    cloud.kubectl("delete", "pod", "mariadb-server-0", "-n", "openstack", "--wait=false")
    eventually(lambda: "MariaDB" in cloud.condition()["message"], limit=30, pause=0.1)
    assert "mariadb-server" in cloud.condition()["message"]
    cloud.wait_ready()
    assert cloud.token()


def test_a_keystone_that_has_just_started_forbids_nobody(cloud: Cloud) -> None:
    """Whoever asks first, and those who ask at the same time."""
    pod = ("exec", "-n", "openstack", "deployment/keystone-client", "--", "python3", "-c", AT_ONCE)
    command = [tools.binary("kubectl"), "--kubeconfig", cloud.cluster.kubeconfig, *pod]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout
        assert asking.stdout.readline() == "begin\n"
        cloud.kubectl("delete", "pod", "-n", "openstack", "-l", "application=keystone,component=api")
        assert set(asking.communicate()[0].split()) == {"200"}
    cloud.wait_ready()


def living(cloud: Cloud) -> set[str]:
    """The pods that serve; those of Jobs and those that are going away come and go by themselves."""
    return {
        pod["metadata"]["uid"]
        for pod in cloud.get("pods", "-n", "openstack")["items"]
        if pod["status"]["phase"] == "Running" and not pod["metadata"].get("deletionTimestamp")
    }


def test_a_killed_kubelet_and_container_runtime_come_back_and_the_pods_stay(cloud: Cloud) -> None:
    before = living(cloud)
    kill("kubelet")
    kill("containerd")
    eventually(lambda: bool(processes("kubelet") and processes("containerd")), limit=30)
    cloud.wait_ready()
    eventually(lambda: bool(cloud.token()), limit=60, pause=1)  # kubelet may still be making itself known
    assert living(cloud) == before


def test_a_killed_api_server_and_etcd_come_back(cloud: Cloud) -> None:
    kill("etcd")
    kill("kube-apiserver")
    eventually(lambda: "ok" in cloud.kubectl("get", "--raw", "/readyz"), limit=60, pause=1)
    cloud.wait_ready()
    assert "No changes" in cloud.stackwright("plan")


def test_the_operator_that_is_killed_again_and_again_still_makes_the_cloud(cloud: Cloud) -> None:
    cloud.kubectl("delete", "openstackdeployment", "cloud", "-n", "openstack")
    eventually(lambda: cloud.left("openstack") == [], limit=90, pause=1)
    cloud.kubectl("apply", "--server-side", "-f", SMALL)
    for _ in range(4):
        time.sleep(2.5)
        for process in operator_processes():
            os.kill(process, signal.SIGKILL)
    cloud.wait_ready(limit=400)
    assert cloud.token()


def operator_processes() -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"operator" in words and any(word.endswith(b"/stackwright") for word in words):
            found.append(int(path.parent.name))
    return found
