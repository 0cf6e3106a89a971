"""The observation of a controller: the next reconcile, and that its resources are in the project of its credentials."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from stackwright.controllers.capicluster.decide import decide as decide_cluster
from stackwright.controllers.capicluster.observe import Observed as Cluster
from stackwright.controllers.floatingippool.decide import decide as decide_pool
from stackwright.controllers.floatingippool.observe import Observed as Pool
from stackwright.controllers.infra.cloud_observation import CloudObservation, project, with_error, with_view
from stackwright.controllers.server.decide import decide as decide_server
from stackwright.controllers.server.observe import Observed as Server
from stackwright.core.objects import FINALIZER
from stackwright.core.openstack.errors import TransientCloudError
from stackwright.core.openstack.resources import ProjectView


@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize(
    ("observed", "decide", "poll"),
    [(Server, decide_server, 15), (Cluster, decide_cluster, 15), (partial(Pool, claims=()), decide_pool, 10)],
)
def test_a_retry_time_sets_the_next_reconcile(observed: Any, decide: Any, poll: float, leaves: bool) -> None:
    meta = {"name": "a", "namespace": "ns", "uid": "u", "finalizers": [FINALIZER]}
    obj = {"metadata": {**meta, **({"deletionTimestamp": "now"} if leaves else {})}, "spec": {}}
    seen = observed(obj, 0.0, {"reclaimPolicy": "Delete"})
    assert decide(with_error(seen, TransientCloudError("RateLimited", "HTTP 429", 120.0))).requeue == 120
    assert decide(with_error(seen, TransientCloudError("Unreachable", "timed out"))).requeue == (15 if leaves else poll)


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ("a", "a", False),
        ("a", "b", True),
        ("a@one", "a@two", True),
        ("a@one", "b@one", True),
        ("a@one", "a", False),
        ("a", "a@one", False),
        ("", "a", False),
        ("a", "", False),
    ],
)
def test_credentials_of_another_project_are_an_error(was: str, now: str, told: bool) -> None:
    seen = CloudObservation({"metadata": {}, "status": {"project": was}}, 0.0, {})
    for record, wanted in (({("port", "a"): "1"}, told), ({}, False)):
        found = with_view(seen, ProjectView(place=now), record)
        assert (found.failure is not None) == wanted
        assert (found.view is None) == wanted
    assert project(seen, {("port", "a"): "1"}) == was
