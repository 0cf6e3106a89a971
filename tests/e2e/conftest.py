"""The real clouds on the local cluster, which is stopped again unless it ran before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import clouds
import pytest
from autopsy import autopsy
from fixtures import booted, heat_cloud, infra, member, pair, raw, root, undisturbed, writer, writer_vm  # noqa: F401
from full import FullCloud
from harness import Cloud
from storage import Storage
from vms import Vms

from stackwright.local.cluster import state

HERE = Path(__file__).parent
EXPLAINED = 3  # failures; later ones are mostly consequences


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore warnings of the clients of OpenStack and of the browser, which our code cannot prevent."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.filterwarnings("default"))


def pytest_exception_interact(node: pytest.Item | pytest.Collector, report: pytest.TestReport) -> None:
    """Print immediately: a long run that is killed would otherwise show only an F."""
    if node.session.testsfailed <= EXPLAINED:
        report.sections.append(("The nodes' networks", autopsy(Cloud())))
    reporter = node.config.pluginmanager.get_plugin("terminalreporter")
    assert reporter
    seen = "\n".join(text for _, text in report.sections)
    reporter.write_line(f"\n{node.nodeid}\n{report.longreprtext}\n{seen}")


@pytest.fixture(scope="session")
def machine() -> Iterator[Cloud]:
    ran_before = state.cluster_state().state == "ready"
    made = Cloud()
    yield made
    if not ran_before:
        made.stackwright("down", limit=300)


@pytest.fixture(scope="session")
def cloud(machine: Cloud) -> Cloud:
    return clouds.small(machine)


@pytest.fixture(scope="session")
def full_cloud(machine: Cloud) -> FullCloud:
    return clouds.full(machine)


@pytest.fixture(scope="session")
def storage_cloud(machine: Cloud) -> FullCloud:
    return clouds.storage(machine)


@pytest.fixture(scope="session")
def bare_cluster(machine: Cloud) -> Iterator[Cloud]:
    """Deleted at the end: kubelet refuses an image that it pulled with a password to pods without it."""
    yield clouds.bare(machine)
    machine.stackwright("down", "--purge", "--yes", limit=300)


@pytest.fixture(scope="session")
def oldest_cloud(machine: Cloud) -> Iterator[FullCloud]:
    """Deleted at the end: no other test is for this version of Kubernetes."""
    yield clouds.oldest(machine)
    machine.stackwright("down", "--purge", "--yes", limit=300)


@pytest.fixture(scope="session")
def ovn_cloud(machine: Cloud) -> Iterator[FullCloud]:
    """Deleted at the end: all other tests are for agents."""
    yield clouds.ovn(machine)
    machine.stackwright("down", "--purge", "--yes", limit=300)


@pytest.fixture(scope="session")
def vms(full_cloud: FullCloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vms]:
    made = Vms(full_cloud, tmp_path_factory.mktemp("client"))
    yield made
    made.sdk.close()


@pytest.fixture(scope="session")
def storage(storage_cloud: FullCloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    made = Storage(storage_cloud, Vms(storage_cloud, tmp_path_factory.mktemp("storage")))
    made.sweep()  # leftovers of a killed run
    yield made
    if storage_cloud.spec():  # a cloud that a test deleted contains no resources
        made.close()
    else:
        made.sdk.close()
