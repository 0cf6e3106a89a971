"""After kills of processes, the status names them, and they recover by themselves without data loss."""

from __future__ import annotations

from faults.kills import kill, processes
from full import FullCloud
from harness import eventually


def health(cloud: FullCloud, application: str, component: str) -> dict[str, str]:
    return dict(cloud.osdpl()["status"]["health"][application][component])


def test_a_deleted_pod_appears_in_health_at_once_and_recovers(cloud: FullCloud) -> None:
    cloud.kubectl("delete", "pod", "memcached-0", "-n", "openstack", "--wait=false")
    shown = eventually(lambda: health(cloud, "memcached", "server")["status"] == "Unhealthy", limit=20, pause=0.1)
    assert shown < 10
    eventually(lambda: health(cloud, "memcached", "server")["status"] == "Ready", limit=60)
    cloud.wait_ready()


def test_a_killed_mariadb_recovers_with_its_data(cloud: FullCloud) -> None:
    project = cloud.token()["project_id"]
    kill("mariadbd")
    eventually(lambda: cloud.token()["project_id"] == project, limit=120, pause=1)
    cloud.wait_ready()


def test_a_killed_kubelet_and_container_runtime_restart_and_pods_continue(cloud: FullCloud) -> None:
    before = set(cloud.pods())
    kill("kubelet")
    kill("containerd")
    eventually(lambda: bool(processes("kubelet") and processes("containerd")), limit=30)
    cloud.wait_ready()
    eventually(lambda: bool(cloud.token()), limit=60, pause=1)  # kubelet may not have registered its node yet
    assert set(cloud.pods()) == before


def test_a_killed_api_server_and_etcd_restart(cloud: FullCloud) -> None:
    kill("etcd")
    kill("kube-apiserver")
    eventually(lambda: "ok" in cloud.kubectl("get", "--raw", "/readyz"), limit=60, pause=1)
    cloud.wait_ready()
    assert "No changes" in cloud.stackwright("plan")
