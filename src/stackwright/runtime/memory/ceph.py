"""Ceph in memory: the keys that it provides for requests."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping

from stackwright.core.objects import MANAGED, key_of
from stackwright.core.plan import Object
from stackwright.core.secrets.cephkeys import MONITORS
from stackwright.services.ceph.clients import POOLS
from stackwright.services.ceph.values import KEYS


def provided_keys(requests: Object) -> Object:
    """The Secret with keys for a ConfigMap with requests."""
    clients = json.loads(requests["data"]["requests.json"])["clients"]
    namespace, _ = key_of(requests)
    data = {MONITORS: "192.0.2.1:6789"}
    owners = requests["metadata"].get("ownerReferences") or []
    if not owners:  # an external Ceph with its own object gateway
        data |= {"rgw_internal": "http://192.0.2.1:8080/", "rgw_external": "https://rgw.example.org"}
    for name, asked in clients.items():
        data[name] = _client(name, [(pool["name"], pool["role"]) for pool in asked["pools"]])
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": namespace, "name": KEYS, "labels": dict(MANAGED), "ownerReferences": owners},
        "data": encoded(data),
    }


def blank(fields: Iterable[str]) -> dict[str, str]:
    """Substitute data for such a Secret when its content is not readable: every client, with pools of each role."""
    pools = [(name, role) for role, name in POOLS.items()]
    known = {MONITORS: "192.0.2.1:6789", "rgw_internal": "http://192.0.2.1", "rgw_external": "https://192.0.2.1"}
    return encoded({name: known.get(name) or _client(name, pools) for name in fields})


def _client(name: str, pools: Iterable[tuple[str, str]]) -> str:
    return ";".join([f"client.{name}", f"key-of-{name}", *(f"{pool}:{role}:hdd" for pool, role in pools)])


def encoded(data: Mapping[str, str]) -> dict[str, str]:
    return {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
