"""No request fails while the APIs restart."""

from __future__ import annotations

import pytest
from faults.restarts import READY_LIMIT
from full import FullCloud
from harness import eventually
from traffic.load import Load, targets


@pytest.fixture(autouse=True)
def _ready(full_cloud: FullCloud) -> None:
    """Runs after any state of an earlier test."""
    full_cloud.wait_ready()


def test_no_request_fails_while_every_api_restarts(full_cloud: FullCloud) -> None:
    """Requests use the addresses of the Services, and a new connection each."""
    found = targets(full_cloud)
    assert {"keystone-api", "nova-api-osapi", "neutron-server", "horizon"} <= {each.workload.name for each in found}
    with Load(full_cloud, found) as load:
        for target in found:
            before = set(full_cloud.pods("-l", target.workload.selector))
            what = (f"deployment/{target.workload.name}", "-n", full_cloud.namespace)
            full_cloud.kubectl("rollout", "restart", *what)
            full_cloud.kubectl("rollout", "status", *what, limit=READY_LIMIT)
            eventually(lambda before=before: not before & every_pod(full_cloud), limit=READY_LIMIT, pause=1)
    print(load.result)
    assert load.result["failures"] == []
    assert min(load.result["counts"][target.workload.name] for target in found) > 100


def every_pod(cloud: FullCloud) -> set[str]:
    """Uids of all pods, including those in deletion."""
    return {pod["metadata"]["uid"] for pod in cloud.get("pods", "-n", cloud.namespace)["items"]}
