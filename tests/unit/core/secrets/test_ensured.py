"""Generated values are kept, whatever happens between the read and the write of their Secret."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.api.kinds import SECRET
from stackwright.core.errors import Conflict
from stackwright.core.objects import secret_data
from stackwright.core.plan import Key, Object
from stackwright.core.secrets.writes import EnsureSecret, SecretOwner
from stackwright.runtime.cycle.execute import execute
from stackwright.runtime.memory import FrozenClock, MemoryCluster
from support.ports import memory_ports

KEY: Key = ("n", "admin")
OWNER: Object = {
    "apiVersion": "stackwright.dev/v1alpha1",
    "kind": "Keystone",
    "metadata": {"namespace": "n", "name": "cloud", "uid": "u"},
}


async def ensured(cluster: MemoryCluster, username: str) -> dict[str, str]:
    action = EnsureSecret(KEY, SecretOwner(OWNER), fixed={"username": username}, generated=("password",))
    await execute([action], memory_ports(cluster, FrozenClock(1000.0)), "test")
    return {"password": secret_data(cluster.peek(SECRET, KEY))["password"]}


async def test_a_secret_that_changed_since_its_read_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = MemoryCluster(clock=FrozenClock(1000.0))
    first = await ensured(cluster, "one")
    assert await ensured(cluster, "two") == first
    read: Any = cluster.get

    async def outdated(kind: Any, key: Key) -> Object | None:
        """The Secret before its values were written."""
        found = await read(kind, key)
        if kind != SECRET or found is None:
            return found
        return {**found, "data": {}, "metadata": {**found["metadata"], "resourceVersion": "1"}}

    monkeypatch.setattr(cluster, "get", outdated)
    with pytest.raises(Conflict):
        await ensured(cluster, "three")
    assert secret_data(cluster.peek(SECRET, KEY))["password"] == first["password"]
