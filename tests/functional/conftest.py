"""A real API server (only etcd and kube-apiserver) for the whole session, with our CRDs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.crd import crd
from stackwright.api.kinds import CRD, NAMESPACE
from stackwright.cloud.registry import RESOURCES
from stackwright.core import conditions
from stackwright.core.errors import TerminalError
from support.control_plane import control_plane

# httpcore2 leaves a connection to the garbage collector if its request is cancelled during the TLS handshake, as when
# an operator stops (`except Exception` in AnyIOStream.start_tls). Any later test may be the one that collects it.
CANCELLED_HANDSHAKE = (
    "ignore:unclosed transport <_SelectorSocketTransport:ResourceWarning",
    "ignore:unclosed <socket.socket fd=[0-9]+, family=2, .* laddr=\\('127:ResourceWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            for text in CANCELLED_HANDSHAKE:
                item.add_marker(pytest.mark.filterwarnings(text))


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Path of a kubeconfig. STACKWRIGHT_TEST_KUBECONFIG names an existing cluster (the tests write to it)."""
    given = os.environ.get("STACKWRIGHT_TEST_KUBECONFIG")
    if given:
        _install_crds(given)
        yield given
        return
    with control_plane(tmp_path_factory.mktemp("control-plane")) as path:
        _install_crds(str(path))
        yield str(path)


def _install_crds(path: str) -> None:
    async def install() -> None:
        cluster = KubernetesCluster.from_file(path)
        for resource in RESOURCES:
            with contextlib.suppress(TerminalError):  # adapters/test_kubernetes.py names the command and the reason
                await cluster.apply(CRD, crd(resource), "test")
        try:
            async with asyncio.timeout(30):
                while not all(_established(obj) for obj in await cluster.list(CRD)):
                    await asyncio.sleep(0.1)
        finally:
            await cluster.close()

    asyncio.run(install())


def _established(obj: dict[str, Any]) -> bool:
    return (conditions.find(obj, "Established") or {}).get("status") == "True"


@pytest_asyncio.fixture
async def cluster(kubeconfig: str) -> AsyncIterator[KubernetesCluster]:
    connected = KubernetesCluster.from_file(kubeconfig)
    yield connected
    await connected.close()


@pytest_asyncio.fixture
async def namespace(cluster: KubernetesCluster) -> AsyncIterator[str]:
    """The name of a new namespace."""
    name = f"t-{uuid.uuid4().hex[:10]}"
    await cluster.apply(NAMESPACE, {"metadata": {"name": name}}, "test")
    yield name
    await cluster.delete(NAMESPACE, ("", name))
