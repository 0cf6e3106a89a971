"""The observation of a controller: the next reconcile, and that its resources are in the project of its credentials."""

from __future__ import annotations

from contextlib import nullcontext
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
from stackwright.core.openstack.errors import TerminalCloudError, TransientCloudError
from stackwright.core.openstack.resources import CloudResource, ProjectView, ResourceKey

RECORD: dict[ResourceKey, str] = {("port", "a"): "1"}


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
    ("was", "now", "told", "recorded"),
    [
        ("a", "a", False, "a"),
        ("a", "b", True, "a"),
        ("a@one", "a@two", True, "a@one"),
        ("a@one", "b@one", True, "a@one"),
        ("a@one", "a", True, "a@one"),
        ("a", "a@one", False, "a@one"),
        ("", "a", False, "a"),
        ("a", "", False, "a"),
    ],
)
def test_credentials_of_another_project_are_an_error(was: str, now: str, told: bool, recorded: str) -> None:
    seen = CloudObservation({"metadata": {}, "status": {"project": was}}, 0.0, {})
    view = ProjectView((CloudResource("port", "1"),), place=now)
    assert with_view(seen, view, {}).view == view
    with pytest.raises(TerminalCloudError, match="selects project") if told else nullcontext():
        seen = with_view(seen, view, RECORD)
    assert project(seen, RECORD) == recorded


@pytest.mark.parametrize(
    ("view", "told"),
    [
        (ProjectView(place="a@one"), True),
        (ProjectView(place="a@one", settled=False), False),
        (ProjectView(place="a@one", unlisted_types=frozenset({"port"})), False),
        (ProjectView(place="a"), False),
    ],
)
def test_an_added_region_without_any_of_the_resources_is_another_one(view: ProjectView, told: bool) -> None:
    seen = CloudObservation({"metadata": {}, "status": {"project": "a"}}, 0.0, {})
    with pytest.raises(TerminalCloudError, match="another region") if told else nullcontext():
        seen = with_view(seen, view, RECORD)
    assert project(seen, RECORD) == "a"
