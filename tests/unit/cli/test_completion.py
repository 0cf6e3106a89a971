"""Completions of a shell while a command is typed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.api.infra.server import OpenStackServer
from stackwright.api.kinds import NAMESPACE, SECRET
from stackwright.cli.app import app
from stackwright.cli.cluster import connection as cli_connection
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.runtime.memory import MemoryCluster
from support.server_objects import obj as good

SPEC = {"openstack_version": "epoxy", "preset": "core", "size": "single"}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    memory = MemoryCluster()
    for namespace, name in (("openstack", "blue"), ("other", "green")):
        memory.put(NAMESPACE, {"metadata": {"name": namespace}})
        memory.put(OpenStackDeployment.KIND, {"metadata": {"namespace": namespace, "name": name}, "spec": SPEC})
    server = {"metadata": {"namespace": "openstack", "name": "web"}, "spec": good("OpenStackServer")["spec"]}
    memory.put(OpenStackServer.KIND, server)
    labels = {"owner": "helm", "name": "openstack-keystone", "version": "1"}
    record = {"namespace": "openstack", "name": "sh.helm.release.v1.openstack-keystone.v1", "labels": labels}
    memory.put(SECRET, {"metadata": record})

    @asynccontextmanager
    async def connected(given: Any, tell: None) -> AsyncIterator[MemoryCluster]:
        yield memory

    monkeypatch.setattr(cli_connection, "connected", connected)
    return memory


def offered(line: str) -> list[str]:
    """What bash is offered for the last word of a line."""
    words = line.split(" ")
    env = {
        "_STACKWRIGHT_COMPLETE": "complete_bash",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    return CliRunner().invoke(app, [], env=env, prog_name="stackwright").stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("stackwright rest", ["restart"]),
        ("stackwright logs identi", ["identity"]),
        ("stackwright restart keys", ["keystone"]),
        ("stackwright values placem", ["placement"]),
        ("stackwright status ", ["blue"]),
        ("stackwright wait -n other ", ["green"]),
        ("stackwright delete b", ["blue"]),
        ("stackwright history open", ["openstack-keystone"]),
        ("stackwright pause b", ["blue"]),
        ("stackwright rollback b", ["blue"]),
        ("stackwright servers w", ["web"]),
        ("stackwright status -n ot", ["other"]),
        ("stackwright status --names", ["--namespace"]),
    ],
)
def test_words_that_fit_are_offered(cluster: MemoryCluster, line: str, words: list[str]) -> None:
    assert offered(line) == words


def test_completion_without_a_cluster_is_empty_and_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def connected(given: Any, tell: None) -> AsyncIterator[MemoryCluster]:
        raise cli_connection.CliError("No Kubernetes cluster is known.")
        yield MemoryCluster()

    monkeypatch.setattr(cli_connection, "connected", connected)
    assert offered("stackwright status ") == []
