"""OpenStackCluster: the OpenStack resources that the machines of a cluster share, and the bastion."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from stackwright.controllers.capicluster.decide import decide
from stackwright.controllers.capicluster.observe import KIND, MACHINE, NAME, observe
from stackwright.controllers.infra.clusterapi import NAME as CLUSTER_NAME
from stackwright.controllers.infra.clusterapi import cluster_name
from stackwright.controllers.infra.server_template import SERVER_KIND
from stackwright.core.controller import ByOwner, Controller, Lookup, Watch
from stackwright.core.objects import key_of, label
from stackwright.core.openstack.clouds import Clouds
from stackwright.core.pausing import CLUSTER_API
from stackwright.core.plan import Key, Object


def controller(clouds: Clouds) -> Controller:
    watches = (Watch(SERVER_KIND, ByOwner(KIND.kind)), Watch(MACHINE, _cluster, on_message_change=False))
    return Controller(NAME, "servers", KIND, watches, partial(observe, clouds), decide, remote=True, pause=CLUSTER_API)


def _cluster(machine: Object, lookup: Lookup) -> Iterable[Key]:
    """The cluster that a machine names: its deletion waits for all machines, its floating IP for a ready one."""
    name = label(machine, CLUSTER_NAME)
    found = lookup(KIND, machine["metadata"].get("namespace", ""))
    return [key_of(each) for each in found if cluster_name(each) == name]
