"""`pause` and `resume` on a cluster in memory."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.api.infra.server import OpenStackServer
from stackwright.cli.app import app
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.pausing import CLUSTER_API, STACKWRIGHT
from stackwright.runtime.memory import MemoryCluster
from stackwright.services.keystone.kind import Keystone
from support.commands import connect
from support.server_objects import obj as good

SPACE = "openstack"
CLOUD = {"openstack_version": "epoxy", "preset": "core", "size": "single"}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    memory = MemoryCluster()
    memory.put(OpenStackDeployment.KIND, {"metadata": {"namespace": SPACE, "name": "cloud"}, "spec": CLOUD})
    memory.put(Keystone.KIND, {"metadata": {"namespace": SPACE, "name": "keystone"}, "spec": {}})
    server = good("OpenStackServer")["spec"]
    for name in ("web", "db"):
        memory.put(OpenStackServer.KIND, {"metadata": {"namespace": SPACE, "name": name}, "spec": server})
    connect(monkeypatch, memory)
    return memory


def called(*words: str) -> Any:
    return CliRunner().invoke(app, words)


@pytest.mark.parametrize(
    ("word", "kind", "name", "annotation"),
    [
        ("cloud", OpenStackDeployment, "cloud", STACKWRIGHT.annotation),
        ("keystone", Keystone, "keystone", STACKWRIGHT.annotation),
        ("identity", Keystone, "keystone", STACKWRIGHT.annotation),
        ("openstackdeployment/cloud", OpenStackDeployment, "cloud", STACKWRIGHT.annotation),
        ("OpenStackServer/web", OpenStackServer, "web", CLUSTER_API.annotation),
    ],
)
def test_pause_and_resume_annotate_one_object(
    cluster: MemoryCluster, word: str, kind: Any, name: str, annotation: str
) -> None:
    title = f"{kind.KIND.kind} {SPACE}/{name}"

    def annotations() -> Any:
        return cluster.peek(kind.KIND, (SPACE, name))["metadata"].get("annotations") or {}  # type: ignore[index]

    assert called("pause", word).stdout == f"{title}: paused\n"
    assert annotations()[annotation] == "true"
    assert called("pause", word).stdout == f"{title}: already paused\n"
    assert called("resume", word).stdout == f"{title}: resumed\n"
    assert annotation not in annotations()
    assert called("resume", word).stdout == f"{title}: already resumed\n"
    assert [each.key for each in cluster.writes] == [(SPACE, name)] * 2


def test_an_unknown_name_is_rejected_with_the_known_ones(cluster: MemoryCluster) -> None:
    result = called("pause", "heat")
    assert result.exit_code == 1
    assert result.stderr == (
        "No heat found in namespace openstack; found: Keystone/keystone, OpenStackDeployment/cloud; "
        "other objects are named KIND/NAME, such as OpenStackServer/heat\n"
    )
    assert "found: OpenStackServer/db, OpenStackServer/web" in called("pause", "OpenStackServer/x").stderr
    assert "found: none; other objects are named" in called("pause", "web", "-n", "demo").stderr
    assert "unknown kind 'Pod'; allowed: " in called("resume", "Pod/x").stderr
    assert "so stackwright cannot pause it" in called("pause", "OpenStackMachineTemplate/x").stderr
    for wrong in ("/x", "Keystone/"):
        assert called("pause", wrong).stderr == f"{wrong}: write KIND/NAME\n"
    assert not cluster.writes
