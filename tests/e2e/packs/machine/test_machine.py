"""The machine after `down`, and the state that `up` reuses."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from harness import CLI, ROOT, Cloud, run

from stackwright.local import tools
from stackwright.local.cluster.leftovers import leftovers


def test_down_leaves_nothing_running_and_up_resumes_with_the_data(cloud: Cloud) -> None:
    project = cloud.token()["project_id"]
    cloud.stackwright("down", limit=200)
    assert not leftovers(cloud.cluster)
    assert cloud.cluster.kubeconfig.exists(), "data is kept"
    before = settings()
    cloud.stackwright("up", limit=600)
    assert settings() == before
    cloud.wait_ready()
    assert cloud.token()["project_id"] == project


def settings() -> list[str]:
    """Settings of the machine, which a local cluster does not change."""
    names = ("ipv4/ip_forward", "ipv4/conf/default/forwarding", "bridge/bridge-nf-call-iptables")
    files = [Path("/proc/sys/net", name) for name in names]
    return [file.read_text() if file.exists() else "" for file in files]


def test_an_up_that_is_killed_or_interrupted_resumes(cloud: Cloud) -> None:
    cloud.stackwright("down", limit=200)
    for seconds, sign, code in ((1.0, signal.SIGKILL, -9), (4.0, signal.SIGINT, 130)):
        started = subprocess.Popen(
            [CLI, "up"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=interruptible
        )
        time.sleep(seconds)
        started.send_signal(sign)
        out, _ = started.communicate(timeout=60)
        assert started.returncode == code, out
    assert "resumes" in out
    cloud.stackwright("up", limit=600)
    cloud.wait_ready()
    assert cloud.token()


def interruptible() -> None:
    """Restore the default action: a shell starts background jobs with SIGINT ignored, which children inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_a_second_node_joins_and_leaves(cloud: Cloud) -> None:
    cloud.stackwright("up", "--nodes", "2", limit=600)
    try:
        assert [n["metadata"]["name"] for n in cloud.get("nodes")["items"]] == ["node1", "node2"]
        cloud.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=60s")
    finally:
        cloud.stackwright("up", "--nodes", "1", "--yes", limit=600)
    assert len(cloud.get("nodes")["items"]) == 1
    cloud.wait_ready()


def test_an_existing_cluster_is_used_by_its_kubeconfig(cloud: Cloud, tmp_path: Path) -> None:
    """Only the operator and the cloud are installed, with published images; here, the nodes have these already."""
    config = tmp_path / "kubeconfig"
    config.write_bytes(cloud.cluster.kubeconfig.read_bytes())
    run(tools.binary("helm"), "uninstall", "stackwright", "-n", "stackwright", "--kubeconfig", config)
    out = cloud.stackwright("up", "--kubeconfig", str(config), "--images", "stackwright.local", limit=300)
    assert "✓ Operator" in out
    assert "and images" not in out
    cloud.wait_ready()
    assert cloud.token()


def test_doctor_and_images_report_the_state(cloud: Cloud) -> None:
    assert cloud.stackwright("doctor")
    assert "keystone" in cloud.stackwright("images", "list")
    cloud.stackwright("images", "load", limit=300)
