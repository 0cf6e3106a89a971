"""Reads a machine, its owners and its server. Sends no request to a cloud.

A label names the machine's cluster. With Cluster API, it names a Cluster, which refers to the OpenStackCluster, and a
Machine owns this machine. Without Cluster API, the label names the OpenStackCluster itself. Cluster API's kinds may not
be installed, so they are read and not watched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from stackwright.api.infra.cluster.cluster import OpenStackCluster
from stackwright.api.infra.machine import OpenStackMachine
from stackwright.controllers.infra.clusterapi import CLUSTER, MACHINE, owner_named
from stackwright.controllers.infra.clusterapi import NAME as CLUSTER_NAME
from stackwright.controllers.infra.reads import get_if_served, origin_of
from stackwright.controllers.infra.server_template import SERVER_KIND
from stackwright.core.objects import label
from stackwright.core.pausing import cluster_api_cause
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader

NAME = "machine"
KIND = OpenStackMachine.KIND


@dataclass(frozen=True)
class Observed:
    """origin   where the object was first created; see `controllers.infra.origin`
    top      Cluster API's Cluster;  machine  its Machine; None if Cluster API does not manage this machine
    cluster  the OpenStackCluster, with its spec in the newer spelling if it is valid
    cluster_errors  errors of its spec;  named  the name of the cluster, empty while unknown
    """

    obj: Object
    spec: Mapping[str, Any]
    errors: tuple[str, ...] = ()
    origin: str = ""
    top: Object | None = None
    machine: Object | None = None
    cluster: Object | None = None
    named: str = ""
    server: Object | None = None
    cluster_errors: tuple[str, ...] = ()

    @property
    def status(self) -> Mapping[str, Any]:
        return self.obj.get("status") or {}

    @property
    def paused(self) -> str:
        return cluster_api_cause(self.obj, self.top)


async def observe(reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(KIND, key)
    if obj is None:
        return None
    spec, errors = OpenStackMachine.parsed(obj)
    server = await reader.get(SERVER_KIND, key)
    seen = Observed(obj, spec, tuple(errors), await origin_of(reader, obj), server=server)
    if name := label(obj, CLUSTER_NAME):
        seen = await _of_cluster(seen, reader, (key[0], name))
    if server is None and (owner := owner_named(obj, MACHINE)):
        seen = replace(seen, machine=await get_if_served(reader, MACHINE, (key[0], owner)))
    return seen


async def _of_cluster(seen: Observed, reader: Reader, key: Key) -> Observed:
    top = await get_if_served(reader, CLUSTER, key)
    named = str(((top.get("spec") or {}).get("infrastructureRef") or {}).get("name") or "") if top else key[1]
    cluster = await reader.get(OpenStackCluster.KIND, (key[0], named)) if named else None
    seen = replace(seen, top=top, named=named)
    if cluster is None:
        return seen
    spec, errors = OpenStackCluster.parsed(cluster)
    return replace(seen, cluster={**cluster, "spec": spec}, cluster_errors=tuple(errors))
