"""KubernetesCluster against a real API server: results, error messages, pages, events."""

from __future__ import annotations

import asyncio

import pytest

from stackwright.adapters.kubernetes import client
from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.crd import crd
from stackwright.api.kinds import CONFIGMAP, CRD, EVENT
from stackwright.api.meta import Kind, Resource
from stackwright.cloud.registry import RESOURCES, kind_of
from stackwright.core.errors import Conflict, TerminalError, TransientError

KEYSTONE = kind_of("Keystone")


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.KIND.kind)
async def test_the_api_server_accepts_our_crds(cluster: KubernetesCluster, resource: type[Resource]) -> None:
    await cluster.apply(CRD, crd(resource), "test")


async def test_all_errors_of_a_refusal_are_named(cluster: KubernetesCluster, namespace: str) -> None:
    spec = {"size": "huge", "release": "old"}
    with pytest.raises(TerminalError, match=r"spec\.release: .*spec\.size: "):
        await cluster.apply(KEYSTONE, {"metadata": {"namespace": namespace, "name": "x"}, "spec": spec}, "test")


async def test_an_unknown_field_is_refused_by_name(cluster: KubernetesCluster, namespace: str) -> None:
    with pytest.raises(TerminalError, match=r"\.spec\.sizes: field not declared"):
        await cluster.apply(KEYSTONE, {"metadata": {"namespace": namespace, "name": "x"}, "spec": {"sizes": 1}}, "test")
    await cluster.apply(KEYSTONE, {"metadata": {"namespace": namespace, "name": "x"}, "spec": {}}, "test")
    with pytest.raises(TerminalError, match=r"unknown field \"spec\.sizes\"") as refused:
        await cluster.patch(KEYSTONE, (namespace, "x"), {"spec": {"sizes": 1}})
    assert "managedFields" not in str(refused.value)


async def test_absence(cluster: KubernetesCluster, namespace: str) -> None:
    key = (namespace, "absent")
    assert await cluster.get(KEYSTONE, key) is None
    await cluster.delete(KEYSTONE, key)
    with pytest.raises(Conflict, match="does not exist"):
        await cluster.patch(KEYSTONE, key, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(Conflict, match="does not exist"):
        await cluster.apply_status(KEYSTONE, {"metadata": {"namespace": key[0], "name": key[1]}, "status": {}}, "t")
    with pytest.raises(TransientError, match="namespace nowhere does not exist"):
        await cluster.apply(KEYSTONE, {"metadata": {"namespace": "nowhere", "name": "x"}, "spec": {}}, "t")
    with pytest.raises(TransientError, match="does not serve things"):
        await cluster.get(Kind("example.org", "v1", "Thing", "things"), key)


async def test_an_object_is_deleted_by_its_uid(cluster: KubernetesCluster, namespace: str) -> None:
    key = (namespace, "x")
    made = await cluster.apply(CONFIGMAP, {"metadata": {"namespace": namespace, "name": "x"}}, "test")
    with pytest.raises(Conflict):
        await cluster.delete(CONFIGMAP, key, "another")
    assert await cluster.get(CONFIGMAP, key)
    await cluster.delete(CONFIGMAP, key, made["metadata"]["uid"])
    assert await cluster.get(CONFIGMAP, key) is None
    await cluster.delete(CONFIGMAP, key, made["metadata"]["uid"])


async def test_a_patch_with_an_old_version_conflicts(cluster: KubernetesCluster, namespace: str) -> None:
    key = (namespace, "x")
    made = await cluster.apply(CONFIGMAP, {"metadata": {"namespace": namespace, "name": "x"}}, "test")
    version = made["metadata"]["resourceVersion"]
    await cluster.patch(CONFIGMAP, key, {"metadata": {"resourceVersion": version, "labels": {"a": "1"}}})
    with pytest.raises(Conflict):
        await cluster.patch(CONFIGMAP, key, {"metadata": {"resourceVersion": version, "labels": {"a": "2"}}})


async def test_lists_by_labels_are_read_in_pages(
    cluster: KubernetesCluster, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PAGE", 3)
    for number in range(8):
        meta = {"namespace": namespace, "name": f"m{number}", "labels": {"odd": str(number % 2)}}
        await cluster.apply(CONFIGMAP, {"metadata": meta}, "test")
    found = await cluster.list(CONFIGMAP, namespace, {"odd": "1"})
    assert [(obj["kind"], obj["metadata"]["name"]) for obj in found] == [("ConfigMap", f"m{n}") for n in (1, 3, 5, 7)]
    assert len(await cluster.list(CONFIGMAP, namespace)) == 8
    assert len(await cluster.list(CONFIGMAP)) >= 8


async def test_equal_events_are_one_that_counts(cluster: KubernetesCluster, namespace: str) -> None:
    obj = await cluster.apply(KEYSTONE, {"metadata": {"namespace": namespace, "name": "x"}, "spec": {}}, "test")
    for message in ("one", "one", "two"):
        await cluster.event(obj, "Tested", message, message == "two")
    events = await cluster.list(EVENT, namespace)
    assert sorted((e["message"], e["count"], e["type"]) for e in events) == [
        ("one", 2, "Normal"),
        ("two", 1, "Warning"),
    ]


async def test_calls_are_counted(kubeconfig: str) -> None:
    calls: list[tuple[str, str]] = []
    cluster = KubernetesCluster.from_file(kubeconfig, on_call=lambda verb, kind: calls.append((verb, kind.kind)))
    await asyncio.gather(cluster.get(CONFIGMAP, ("default", "x")), cluster.list(CONFIGMAP, "default"))
    await cluster.close()
    assert sorted(calls) == [("get", "ConfigMap"), ("list", "ConfigMap")]
