"""CephClient: a contract that no server fulfils for the operator, but whoever runs the Ceph."""

from __future__ import annotations

from collections.abc import Iterable

from stackwright.api.kinds import SECRET
from stackwright.api.services.contracts import CephClient
from stackwright.api.services.kinds import Ceph
from stackwright.controllers.cephclient.decide import decide
from stackwright.controllers.cephclient.observe import observe
from stackwright.core.controller import ByOwner, Controller, Lookup, Watch, all_in_namespace
from stackwright.core.plan import Key, Object
from stackwright.services.ceph import KEYS


def _by_keys(obj: Object, lookup: Lookup) -> Iterable[Key]:
    """Its own Secret's owner, or all clients beside the Secret of a Ceph of the cloud's own."""
    if obj["metadata"]["name"] == KEYS:
        return _every(obj, lookup)
    return _owner(obj, lookup)


_every = all_in_namespace(CephClient.KIND)
_owner = ByOwner(CephClient.KIND.kind)


def controller() -> Controller:
    watches = (Watch(Ceph.KIND, _every), Watch(SECRET, _by_keys))
    return Controller("cephclient", "secrets", CephClient.KIND, watches, observe, decide, pausable=True)
