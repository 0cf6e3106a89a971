"""An operator with limited namespaces requests nothing of others."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stackwright.api.kinds import NODE, SECRET
from stackwright.core.errors import UnmanagedNamespace
from stackwright.runtime.cluster.cache import CachedReader, Store
from stackwright.runtime.cluster.managed import ManagedCluster, ManagedReader
from stackwright.runtime.memory import MemoryCluster
from stackwright.services.memcached.kind import Memcached

KIND = Memcached.KIND


def obj(namespace: str, name: str = "x") -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name}}


@pytest.fixture
def below() -> MemoryCluster:
    cluster = MemoryCluster()
    for namespace in ("a", "b", "foreign", "operator"):
        cluster.put(SECRET, obj(namespace))
    cluster.put(NODE, {"metadata": {"name": "node"}})
    return cluster


@pytest.fixture
def managed(below: MemoryCluster) -> ManagedCluster:
    return ManagedCluster(below, ("a", "b"), "operator")


def spaces(found: list[dict[str, Any]]) -> list[str]:
    return [each["metadata"]["namespace"] for each in found]


async def test_a_list_of_all_namespaces_is_one_of_the_managed_ones(managed: ManagedCluster) -> None:
    assert spaces(await managed.list(SECRET)) == ["a", "b"]
    assert spaces(await managed.list(SECRET, "b")) == ["b"]
    assert len(await managed.list(NODE)) == 1, "a node has no namespace"


async def test_the_operators_own_namespace_is_used_by_name(managed: ManagedCluster) -> None:
    assert await managed.get(SECRET, ("operator", "x"))
    await managed.apply(SECRET, obj("operator", "certificate"), "test")


CALLS: dict[str, Callable[[ManagedCluster], Coroutine[Any, Any, Any]]] = {
    "get": lambda it: it.get(SECRET, ("foreign", "x")),
    "list": lambda it: it.list(SECRET, "foreign"),
    "apply": lambda it: it.apply(SECRET, obj("foreign"), "test"),
    "create": lambda it: it.create(SECRET, obj("foreign", "new"), "test"),
    "apply_status": lambda it: it.apply_status(KIND, obj("foreign"), "test"),
    "patch": lambda it: it.patch(SECRET, ("foreign", "x"), {"data": {}}),
    "delete": lambda it: it.delete(SECRET, ("foreign", "x")),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_no_call_reaches_another_namespace(
    managed: ManagedCluster, below: MemoryCluster, call: Callable[..., Coroutine[Any, Any, Any]]
) -> None:
    before = below.all(SECRET)
    with pytest.raises(UnmanagedNamespace, match="does not manage the namespace 'foreign'") as told:
        await call(managed)
    assert "add the namespace to the value `namespaces` of the operator's chart" in str(told.value)
    assert told.value.reason == "BlockedNamespace"
    assert below.all(SECRET) == before


async def test_the_absence_of_a_foreign_object_in_the_cache_means_nothing(below: MemoryCluster) -> None:
    """Otherwise an observation would find that there is no such object, and decide to make it."""
    store = Store()
    store.watch(KIND)
    reader = ManagedReader(CachedReader(store, below), ("a",), "operator")
    assert await reader.list(KIND) == []
    with pytest.raises(UnmanagedNamespace):
        await reader.get(KIND, ("foreign", "x"))
    with pytest.raises(UnmanagedNamespace):
        await reader.list(KIND, "foreign")
