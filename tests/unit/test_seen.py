"""Whoever hears from a cloud when it is worth asking again looks again then."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from stackwright.controllers.capicluster.decide import decide as decide_cluster
from stackwright.controllers.capicluster.observe import Observed as Cluster
from stackwright.controllers.floatingippool.decide import decide as decide_pool
from stackwright.controllers.floatingippool.observe import Observed as Pool
from stackwright.controllers.server.decide import decide as decide_server
from stackwright.controllers.server.observe import Observed as Server
from stackwright.core.clouds import Trouble
from stackwright.core.objects import FINALIZER
from stackwright.core.seen import troubled


@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize(
    ("observed", "decide", "poll"),
    [(Server, decide_server, 15), (Cluster, decide_cluster, 15), (partial(Pool, claims=()), decide_pool, 10)],
)
def test_who_is_told_when_to_come_back_looks_again_then(observed: Any, decide: Any, poll: float, leaves: bool) -> None:
    meta = {"name": "a", "namespace": "ns", "uid": "u", "finalizers": [FINALIZER]}
    obj = {"metadata": {**meta, **({"deletionTimestamp": "now"} if leaves else {})}, "spec": {}}
    seen = observed(obj, 0.0, {"reclaimPolicy": "Delete"})
    assert decide(troubled(seen, Trouble("RateLimited", "HTTP 429", 120.0))).requeue == 120
    assert decide(troubled(seen, Trouble("Unreachable", "timed out"))).requeue == (15 if leaves else poll)
