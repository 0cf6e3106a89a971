"""CephClient: a contract that the provider of Ceph fulfils. The operator does not connect to Ceph."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from stackwright.api.kinds import SECRET
from stackwright.api.services.contracts import CephClient
from stackwright.controllers.cephclient.decide import decide
from stackwright.controllers.cephclient.observe import observe
from stackwright.controllers.claimants import Claimants
from stackwright.core.controller import ByOwner, Controller, Lookup, Watch, all_in_namespace
from stackwright.core.pausing import STACKWRIGHT
from stackwright.core.plan import Key, Object
from stackwright.services.ceph.clients import claims
from stackwright.services.ceph.kind import Ceph
from stackwright.services.ceph.values import KEYS


def _by_keys(obj: Object, lookup: Lookup) -> Iterable[Key]:
    """The owner of a client's own Secret, or all clients for the Secret of the cloud's own Ceph."""
    if obj["metadata"]["name"] == KEYS:
        return _every(obj, lookup)
    return _owner(obj, lookup)


_every = all_in_namespace(CephClient.KIND)
_owner = ByOwner(CephClient.KIND.kind)


def controller() -> Controller:
    claimants = Claimants(CephClient.KIND, claims)
    watches = (Watch(CephClient.KIND, claimants.waiting), Watch(Ceph.KIND, _every), Watch(SECRET, _by_keys))
    look = partial(observe, claimants)
    return Controller("cephclient", "secrets", CephClient.KIND, watches, look, decide, pause=STACKWRIGHT)
