"""The memory ports: merge properties of server-side apply, deletion, the log of writes, read-through, faults."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.api.kinds import CONFIGMAP, DEPLOYMENT, NAMESPACE, SECRET
from stackwright.cloud.registry import kind_of
from stackwright.core.errors import Conflict, TerminalError
from stackwright.core.helm.records import manifest_digest, releases
from stackwright.core.plan import HelmUpgrade
from stackwright.runtime.memory import FrozenClock, MemoryCluster, MemoryHelm, SeededEntropy, Write
from stackwright.runtime.memory.ownership import fields_v1, from_fields_v1, paths_of, without
from stackwright.runtime.memory.shape import shape_of
from support.faults import Crash, FaultyCluster

KEYSTONE = kind_of("Keystone")
KEY = ("openstack", "x")

leaves = st.one_of(st.integers(0, 3), st.lists(st.integers(0, 2), max_size=2))
free = st.recursive(leaves, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3))
specs = st.fixed_dictionaries(
    {},
    optional={
        "size": st.sampled_from(["tiny", "small"]),
        "region": st.sampled_from(["One", "Two"]),
        "settings": st.dictionaries(st.sampled_from("abc"), free, min_size=1, max_size=3),
    },
)


def keystone(spec: dict[str, Any], **meta: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": KEY[0], "name": KEY[1], **meta}, "spec": spec}


def applied(*steps: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        cluster = MemoryCluster()
        result: dict[str, Any] = {}
        for manager, spec in steps:
            result = await cluster.apply(KEYSTONE, keystone(spec), manager)
        return result

    return asyncio.run(run())


def contains(obj: Any, part: Any) -> bool:
    if isinstance(part, dict):
        return isinstance(obj, dict) and all(k in obj and contains(obj[k], v) for k, v in part.items())
    return bool(obj == part)


@given(specs, specs)
def test_the_last_applied_values_exist(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert contains(applied(("a", first), ("b", second))["spec"], second)


@given(specs)
def test_the_same_again_changes_nothing(spec: dict[str, Any]) -> None:
    """The second apply stores the default of the status, which a creation does not, as an API server does."""
    once, twice, thrice = (applied(*[("a", spec)] * times) for times in (1, 2, 3))
    assert twice == thrice
    for obj in (once, twice):
        del obj["metadata"]["resourceVersion"], obj["metadata"]["managedFields"][0]["time"]
    assert once == twice


@given(specs, specs)
def test_a_single_manager_gets_its_last_applied_values(first: dict[str, Any], second: dict[str, Any]) -> None:
    """As without the first manager, except that maps that became empty are null."""
    try:
        both = applied(("a", first), ("a", second))
    except TerminalError:  # a declared map was emptied while it is still named
        return
    assert strip(both["spec"]) == strip(applied(("a", second))["spec"])


@given(specs, specs)
def test_fields_of_other_managers_are_kept(first: dict[str, Any], second: dict[str, Any]) -> None:
    shape = shape_of(KEYSTONE)
    both = applied(("a", first), ("b", second), ("b", {}))
    untouched = paths_of(shape, {"spec": first}) - paths_of(shape, {"spec": second})
    for path in untouched:
        below = [p for p in paths_of(shape, {"spec": second}) if p[: len(path)] == path or path[: len(p)] == p]
        if not below:
            assert value_at(both, path) == value_at({"spec": first}, path)


def value_at(value: Any, path: tuple[str, ...]) -> Any:
    """A spec of these strategies has no lists with an identity: each step is a field."""
    for step in path:
        value = value[step.removeprefix("f:")]
    return value


def strip(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: strip(v) for k, v in value.items() if v is not None and strip(v) != {}}
    return value


@given(specs)
def test_ownership_survives_the_wire(spec: dict[str, Any]) -> None:
    paths = paths_of(shape_of(KEYSTONE), {"spec": spec})
    assert from_fields_v1(fields_v1(paths)) == paths


@given(specs)
def test_removing_all_fields_leaves_nothing(spec: dict[str, Any]) -> None:
    shape = shape_of(KEYSTONE)
    assert not without(shape, {"spec": spec}, paths_of(shape, {"spec": spec}) | {("f:spec",)})


async def test_dependents_are_deleted_with_their_last_owner() -> None:
    cluster = MemoryCluster()
    seen: list[tuple[str, str]] = []
    cluster.subscribe(lambda event, kind, obj: seen.append((event, obj["metadata"]["name"])))
    owners = [cluster.put(CONFIGMAP, {"metadata": {"namespace": "n", "name": name}}) for name in ("o1", "o2")]
    refs = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": o["metadata"]["name"], "uid": o["metadata"]["uid"]}
        for o in owners
    ]
    cluster.put(SECRET, {"metadata": {"namespace": "n", "name": "child", "ownerReferences": refs}})
    cluster.put(SECRET, {"metadata": {"namespace": "n", "name": "other"}})
    await cluster.delete(CONFIGMAP, ("n", "o1"))
    assert cluster.peek(SECRET, ("n", "child"))
    await cluster.delete(CONFIGMAP, ("n", "o2"))
    assert [obj["metadata"]["name"] for obj in cluster.all(SECRET)] == ["other"]
    assert seen[-2:] == [("DELETED", "o2"), ("DELETED", "child")]


async def test_a_namespace_is_deleted_with_all_its_objects() -> None:
    cluster = MemoryCluster()
    cluster.put(NAMESPACE, {"metadata": {"name": "n"}})
    cluster.put(SECRET, {"metadata": {"namespace": "n", "name": "s"}})
    await cluster.delete(NAMESPACE, ("", "n"))
    assert cluster.all(SECRET) == []


async def test_reads_are_copies_and_writes_are_logged() -> None:
    cluster = MemoryCluster()
    made = await cluster.apply(KEYSTONE, keystone({}), "a")
    made["spec"]["size"] = "broken"
    assert (await cluster.get(KEYSTONE, KEY) or {})["spec"]["size"] == "single"
    await cluster.apply_status(KEYSTONE, {**keystone({}), "status": {"progress": "1/1"}}, "a")
    with pytest.raises(Conflict):
        await cluster.patch(KEYSTONE, ("openstack", "absent"), {})
    await cluster.delete(KEYSTONE, KEY)
    assert [(w.verb, w.key) for w in cluster.writes] == [
        ("apply", KEY), ("apply_status", KEY), ("patch", ("openstack", "absent")), ("delete", KEY),
    ]  # fmt: skip
    assert cluster.writes[0] == Write("apply", KEYSTONE, KEY)


async def test_a_base_is_read_and_never_written() -> None:
    base = MemoryCluster()
    for name in ("a", "b", "c"):
        base.put(CONFIGMAP, {"metadata": {"namespace": "n", "name": name, "labels": {"x": "1"}}})
    plan = MemoryCluster(base=base)
    await plan.apply(CONFIGMAP, {"metadata": {"namespace": "n", "name": "a"}, "data": {"k": "v"}}, "m")
    await plan.delete(CONFIGMAP, ("n", "b"))
    assert sorted(o["metadata"]["name"] for o in await plan.list(CONFIGMAP, "n", {"x": "1"})) == ["a", "c"]
    assert await plan.get(CONFIGMAP, ("n", "b")) is None
    changed = await plan.get(CONFIGMAP, ("n", "a")) or {}
    assert (changed["data"], changed["metadata"]["labels"]) == ({"k": "v"}, {"x": "1"})
    assert base.writes == []
    assert "data" not in (base.peek(CONFIGMAP, ("n", "a")) or {})


async def test_an_applier_of_the_base_drops_its_fields_in_the_plan() -> None:
    base = MemoryCluster()
    await base.apply(CONFIGMAP, {"metadata": {"namespace": "n", "name": "a"}, "data": {"k": "v", "l": "w"}}, "m")
    plan = MemoryCluster(base=base)
    after = await plan.apply(CONFIGMAP, {"metadata": {"namespace": "n", "name": "a"}, "data": {"l": "w"}}, "m")
    assert after["data"] == {"l": "w"}


def release(values: dict[str, Any], digest: str) -> HelmUpgrade:
    return HelmUpgrade(
        ("n", "keystone"), "keystone", "", values, digest, {"metadata": {"namespace": "n", "name": "keystone"}}
    )


async def test_helm_leaves_records_and_workloads() -> None:
    cluster, clock = MemoryCluster(), FrozenClock()
    helm = MemoryHelm(cluster, clock, lambda chart, values: [{"kind": "Deployment", "metadata": {"name": values["n"]}}])
    await helm.upgrade(release({"n": "one"}, "d1"))
    clock.forward(60)
    await helm.upgrade(release({"n": "two"}, "d2"))
    record = releases(cluster.all(SECRET))["keystone"]
    assert (record.revision, record.state, record.digest, record.deployed_revision) == (2, "deployed", "d2", 1)
    assert record.updated == clock.now()
    assert [d["metadata"]["name"] for d in cluster.all(DEPLOYMENT)] == ["two"]
    (first, _) = helm.records(("n", "keystone"))
    with pytest.raises(TerminalError, match="revision 1 is not what Helm installed"):
        await helm.rollback(("n", "keystone"), 1, "other")
    await helm.rollback(("n", "keystone"), 1, manifest_digest(first))
    assert releases(cluster.all(SECRET))["keystone"].digest == "d1"
    helm.fail["keystone"] = TerminalError("broken template")
    with pytest.raises(TerminalError):
        await helm.upgrade(release({"n": "x"}, "d3"))
    await helm.uninstall(("n", "keystone"))
    assert (cluster.all(SECRET), cluster.all(DEPLOYMENT)) == ([], [])


@pytest.mark.parametrize(("after", "left"), [(False, 1), (True, 2)])
async def test_a_crash_before_or_after_the_nth_write(after: bool, left: int) -> None:
    inner = MemoryCluster()
    cluster = FaultyCluster(inner, crash_at=2, after=after)
    with pytest.raises(Crash):
        for name in "abc":
            await cluster.apply(CONFIGMAP, {"metadata": {"namespace": "n", "name": name}}, "m")
    assert len(inner.all(CONFIGMAP)) == left


def test_seeded_entropy_repeats() -> None:
    one, two = SeededEntropy(7), SeededEntropy(7)
    assert (one.password(), one.fernet_key()) == (two.password(), two.fernet_key())
    assert len(one.password()) == 32
    assert len(one.fernet_key()) == 44
