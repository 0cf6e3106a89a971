"""OpenStackMachine: an OpenStackServer as a machine of a cluster, with or without Cluster API."""

from __future__ import annotations

from collections.abc import Iterable

from stackwright.api.infra.cluster.cluster import OpenStackCluster
from stackwright.controllers.infra.clusterapi import NAME as CLUSTER_NAME
from stackwright.controllers.infra.clusterapi import cluster_name
from stackwright.controllers.infra.server_template import SERVER_KIND
from stackwright.controllers.machine.decide import decide
from stackwright.controllers.machine.observe import KIND, NAME, observe
from stackwright.core.controller import ByOwner, Controller, Lookup, Watch
from stackwright.core.objects import key_of, label
from stackwright.core.pausing import CLUSTER_API
from stackwright.core.plan import Key, Object


def controller() -> Controller:
    watches = (Watch(SERVER_KIND, ByOwner(KIND.kind)), Watch(OpenStackCluster.KIND, _machines))
    return Controller(NAME, "servers", KIND, watches, observe, decide, pause=CLUSTER_API)


def _machines(cluster: Object, lookup: Lookup) -> Iterable[Key]:
    """All machines that name the cluster."""
    found = lookup(KIND, cluster["metadata"].get("namespace", ""))
    return [key_of(each) for each in found if label(each, CLUSTER_NAME) == cluster_name(cluster)]
