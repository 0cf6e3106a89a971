"""The memory cluster behaves as a real API server: the same operations on both, compared after each one."""

from __future__ import annotations

import json
import os
import random
import uuid
from typing import Any

import pytest

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import CONFIGMAP, DEPLOYMENT, NAMESPACE, SERVICE
from stackwright.api.meta import Kind
from stackwright.cloud.registry import kind_of
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.core.ports import Cluster
from stackwright.runtime.memory import MemoryCluster

KEYSTONE, BUNDLE = kind_of("Keystone"), kind_of("HelmBundle")
Op = tuple[Any, ...]


def meta(namespace: str, **more: Any) -> dict[str, Any]:
    return {"namespace": namespace, "name": "x", **more}


async def do(cluster: Cluster, op: Op, namespace: str) -> Any:
    verb, kind, *rest = op
    if verb in ("apply", "apply_status", "create"):
        body, manager = json.loads(json.dumps(rest[0])), rest[1]
        body["metadata"] = meta(namespace, **body.get("metadata", {}))
        return await getattr(cluster, verb)(kind, body, manager)
    if verb == "patch":
        return await cluster.patch(kind, (namespace, "x"), json.loads(json.dumps(rest[0])))
    await cluster.delete(kind, (namespace, "x"))
    return None


def plain(obj: Any) -> Any:
    """The parts that must be equal: without identities and times. Of managedFields, only the manager of each field."""
    if obj is None:
        return None
    shown = json.loads(json.dumps(obj))
    data = shown["metadata"]
    fields = data.pop("managedFields", [])
    owners = {f"{e['manager']}/{e.get('subresource', '')}": e["fieldsV1"] for e in fields if e["operation"] == "Apply"}
    for volatile in ("uid", "resourceVersion", "creationTimestamp", "namespace", "selfLink"):
        data.pop(volatile, None)
    if "deletionTimestamp" in data:
        data["deletionTimestamp"] = "set"
    return {"object": shown, "owners": owners}


async def _after(cluster: Cluster, op: Op, namespace: str) -> tuple[dict[str, Any], str]:
    """Result of one operation with the object after it, and separately the error, whose text differs."""
    before = await cluster.get(op[1], (namespace, "x"))
    error = ""
    try:
        await do(cluster, op, namespace)
    except (TerminalError, Conflict, TransientError) as raised:
        error = f"{type(raised).__name__} {raised}"
    after = await cluster.get(op[1], (namespace, "x"))
    versions = [obj["metadata"]["resourceVersion"] if obj else "" for obj in (before, after)]
    return {"outcome": error.split(" ")[0], "changed": versions[0] != versions[1], "after": plain(after)}, error


async def same(real: KubernetesCluster, operations: list[Op]) -> None:
    namespace = f"t-{uuid.uuid4().hex[:10]}"
    memory = MemoryCluster()
    await real.apply(NAMESPACE, {"metadata": {"name": namespace}}, "test")
    story = []
    for op in operations:
        theirs, error = await _after(real, op, namespace)
        ours, our_error = await _after(memory, op, namespace)
        story.append(f"{op[0]} {op[1]} {json.dumps(op[2:])} → {error or 'done'} | {our_error}")
        assert ours == theirs, "\n".join(
            ["", *story, "real   " + json.dumps(theirs, sort_keys=True), "memory " + json.dumps(ours, sort_keys=True)]
        )


def ks(manager: str, spec: dict[str, Any], **metadata: Any) -> Op:
    return ("apply", KEYSTONE, {"metadata": metadata, "spec": spec}, manager)


def ready(manager: str, kind: Kind = KEYSTONE, **status: Any) -> Op:
    return ("apply_status", kind, {"status": status}, manager)


def condition(type_: str, status: str = "True", **more: Any) -> dict[str, Any]:
    return {"type": type_, "status": status, **more}


SEQUENCES: dict[str, list[Op]] = {
    "a field not applied any more goes": [
        ks("a", {"size": "tiny", "region": "One", "settings": {"k": {"l": 1, "m": [1, 2]}}}),
        ks("a", {"region": "One", "settings": {"k": {"m": [2]}}}),
        ks("a", {"region": "One"}),
        ks("a", {}),
    ],
    "unless another manager owns it": [
        ks("a", {"size": "tiny", "region": "One"}, labels={"x": "1", "y": "1"}),
        ks("b", {"size": "tiny"}, labels={"x": "1"}),
        ks("a", {}),
        ks("b", {"size": "small"}, labels={"x": "2"}),
        ks("b", {}),
    ],
    "the last applier takes a field": [
        ks("a", {"settings": {"k": 1, "deep": {"x": 1}}}),
        ks("b", {"settings": {"k": 2, "deep": {"y": 1}}}),
        ks("a", {"settings": {"deep": {"x": 1}}}),
        ks("b", {"settings": {"deep": "flat"}}),
        ks("a", {"settings": {"deep": {"x": 1}}}),
        ks("b", {}),
    ],
    "the same again changes nothing": [
        ks("a", {"size": "tiny"}, labels={"x": "1"}),
        ks("a", {"size": "tiny"}, labels={"x": "1"}),
        ready("s", conditions=[condition("Ready")], progress="1/2"),
        ready("s", conditions=[condition("Ready")], progress="1/2"),
        ks("a", {"size": "tiny"}, labels={"x": "1"}),
    ],
    "status and spec do not touch each other": [
        ready("s", conditions=[condition("Ready")]),
        ks("a", {"size": "tiny"}),
        ("apply", KEYSTONE, {"spec": {"size": "tiny"}, "status": {"progress": "9/9"}}, "a"),
        ("apply_status", KEYSTONE, {"spec": {"size": "small"}, "status": {"progress": "1/9"}}, "s"),
        ("patch", KEYSTONE, {"status": {"progress": "2/9"}, "spec": {"size": "small"}}),
        ready("s"),
    ],
    "conditions are a map by type": [
        ks("a", {}),
        ready("s", conditions=[condition("Ready"), condition("Reconciling", "False", reason="x")]),
        ready("t", conditions=[condition("Node")]),
        ready("s", conditions=[condition("Ready", "False"), condition("New")]),
        ready("s", conditions=[condition("New")]),
        ready("t", conditions=[]),
        ready("s", progress="1/1"),
    ],
    "a status that gets empty": [
        ks("a", {}),
        ready("s", conditions=[condition("Ready")], progress="1/1"),
        ready("s", conditions=[]),
        ready("s"),
        ("apply", BUNDLE, {"spec": {"releases": [{"name": "a", "chart": "a"}]}}, "a"),
        ready("s", BUNDLE, releaseStatuses={"a": {"revision": 1, "digest": "x"}}),
        ready("s", BUNDLE, releaseStatuses={"a": {}}, conditions=[condition("Ready")]),
        ready("s", BUNDLE, releaseStatuses={}),
    ],
    "releases are a map by name": [
        ("apply", BUNDLE, {"spec": {"releases": [{"name": "a", "chart": "a", "values": {"x": {"y": 1}}}]}}, "a"),
        ("apply", BUNDLE, {"spec": {"releases": [{"name": "b", "chart": "b"}, {"name": "a", "chart": "a"}]}}, "a"),
        ("apply", BUNDLE, {"spec": {"releases": [{"name": "b", "chart": "c"}]}}, "a"),
        ("apply", BUNDLE, {"spec": {"releases": [{"name": "c", "chart": "c", "timeout": 31}]}}, "b"),
        ("apply", BUNDLE, {"spec": {"releases": [{"name": "d", "chart": "c"}]}}, "a"),
        ("apply", BUNDLE, {"spec": {"releases": []}}, "b"),
        ready("s", BUNDLE, releaseStatuses={"a": {"revision": 1}, "b": {"revision": 2}}),
        ready("s", BUNDLE, releaseStatuses={"b": {"revision": 3}}),
    ],
    "refusals": [
        ks("a", {"size": "huge"}),
        ks("a", {"unknown": 1}),
        ks("a", {"overrides": [{"source": "x", "valeus": {}}]}),
        ("apply", CONFIGMAP, {"data": {"a": "1"}}, "a"),
        ("patch", KEYSTONE, {"metadata": {"labels": {"a": "b"}}}),
        ks("a", {}),
        ("patch", KEYSTONE, {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}),
        ("patch", KEYSTONE, {"spec": {"unknown": "b"}}),
        ("patch", KEYSTONE, {"spec": {"size": "huge"}}),
    ],
    "a uid is a precondition": [
        ks("a", {}, uid="00000000-0000-4000-8000-00000000ffff"),
        ks("a", {}),
        ks("a", {"size": "tiny"}, uid="00000000-0000-4000-8000-00000000ffff"),
        (
            "apply_status",
            KEYSTONE,
            {"metadata": {"uid": "00000000-0000-4000-8000-00000000ffff"}, "status": {"progress": "1"}},
            "s",
        ),
    ],
    "finalizers hold a deletion": [
        ks("a", {}),
        ("patch", KEYSTONE, {"metadata": {"finalizers": ["stackwright.dev/x"]}}),
        ks("a", {"size": "tiny"}, finalizers=["stackwright.dev/y"]),
        ("delete", KEYSTONE),
        ("delete", KEYSTONE),
        ks("a", {"size": "small"}, finalizers=["stackwright.dev/y"]),
        ready("s", conditions=[condition("Ready")]),
        ("patch", KEYSTONE, {"metadata": {"finalizers": ["stackwright.dev/x", "stackwright.dev/z"]}}),
        ks("a", {"size": "small"}),
        ("patch", KEYSTONE, {"metadata": {"finalizers": None}}),
        ("delete", KEYSTONE),
    ],
    "config maps": [
        ("apply", CONFIGMAP, {"data": {"a": "1", "b": "1"}}, "a"),
        ("apply", CONFIGMAP, {"data": {"b": "2", "c": "2"}}, "b"),
        ("apply", CONFIGMAP, {"data": {"b": "1"}}, "a"),
        ("apply", CONFIGMAP, {}, "b"),
        ("patch", CONFIGMAP, {"data": {"b": None, "z": "1"}}),
        ("apply", CONFIGMAP, {"data": {}}, "a"),
    ],
    "what is created was not there": [
        ("create", CONFIGMAP, {"data": {"a": "1"}}, "a"),
        ("create", CONFIGMAP, {"data": {"a": "2"}}, "b"),
        ("apply", CONFIGMAP, {"data": {"a": "2"}}, "b"),
        ("delete", CONFIGMAP),
        ("create", CONFIGMAP, {"data": {"a": "2"}}, "b"),
        ("create", KEYSTONE, {"spec": {"unknown": 1}}, "a"),
        ("create", KEYSTONE, {"spec": {"size": "tiny"}, "status": {"progress": "1/1"}}, "a"),
    ],
    "patches take fields": [
        ks("a", {"size": "tiny", "settings": {"a": 1, "b": {"c": 1}}}, labels={"x": "1"}, annotations={"y": "1"}),
        ("patch", KEYSTONE, {"metadata": {"labels": {"x": "2"}}, "spec": {"settings": {"b": {"c": 2, "d": 3}}}}),
        ks("a", {}),
        ("patch", KEYSTONE, {"spec": {"settings": None}}),
        ks("b", {"settings": {"b": {"d": 4}}}),
    ],
}


@pytest.mark.parametrize("story", SEQUENCES)
async def test_same_as_the_api_server(cluster: KubernetesCluster, story: str) -> None:
    await same(cluster, SEQUENCES[story])


def _some(rnd: random.Random, choices: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: rnd.choice(values) for name, values in choices.items() if rnd.random() < 0.5}


def _random_op(rnd: random.Random) -> Op:
    manager = rnd.choice("ab")
    labels = _some(rnd, {"x": ["1", "2"], "y": ["1", "2"]})
    dice = rnd.random()
    if dice < 0.5:
        inner = {"a": [1, 2], "b": [{"c": 1}, {"d": 1}, {}, 3], "l": [[1], [1, 2], []]}
        spec = _some(rnd, {"size": ["tiny", "small"], "region": ["A", "B"]})
        if rnd.random() < 0.7:
            spec["settings"] = _some(rnd, inner)
        spec |= _some(rnd, {"overrides": [[], [{"source": "s", "values": {"a": 1}}], [{"source": "t"}]]})
        return ks(manager, spec, **({"labels": labels} if labels else {}))
    if dice < 0.8:
        types = [t for t in ("Ready", "Reconciling", "Other") if rnd.random() < 0.5]
        found = [condition(t, rnd.choice(["True", "False"]), **_some(rnd, {"reason": ["r", "s"]})) for t in types]
        return ready(manager, conditions=found, **_some(rnd, {"progress": ["1/2", "2/2"]}))
    if dice < 0.95:
        body: dict[str, Any] = {"metadata": {"labels": _some(rnd, {"x": ["3", None], "z": ["1", None]})}}
        if rnd.random() < 0.5:
            body["spec"] = _some(rnd, {"region": ["C", "D"], "size": ["medium"]})
        return ("patch", KEYSTONE, body)
    return ("delete", KEYSTONE)


@pytest.mark.parametrize("seed", range(int(os.environ.get("STACKWRIGHT_TEST_SEEDS", "40"))))
async def test_same_at_random(cluster: KubernetesCluster, seed: int) -> None:
    rnd = random.Random(seed)
    await same(cluster, [ks("a", {"size": "tiny"}), *(_random_op(rnd) for _ in range(12))])


CONTAINER = {"name": "c", "image": "i:1", "env": [{"name": "A", "value": "1"}]}


async def test_workloads_keep_what_other_managers_own(cluster: KubernetesCluster) -> None:
    """The API server adds the defaults of built-in kinds, so only owners and given fields are compared."""
    labels = {"app": "x"}

    def deployment(containers: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
        template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
        return {"spec": {"selector": {"matchLabels": labels}, "template": template, **spec}}

    namespace, memory = f"t-{uuid.uuid4().hex[:10]}", MemoryCluster()
    await cluster.apply(NAMESPACE, {"metadata": {"name": namespace}}, "test")
    steps: list[Op] = [
        ("apply", DEPLOYMENT, deployment([CONTAINER], replicas=2), "a"),
        ("apply", DEPLOYMENT, {"spec": {"replicas": 3}}, "b"),
        ("apply", DEPLOYMENT, deployment([{**CONTAINER, "env": [{"name": "B", "value": "2"}]}]), "a"),
        ("apply", DEPLOYMENT, deployment([{**CONTAINER, "image": "i:2", "env": []}]), "a"),
    ]
    for step in steps:
        real, ours = [await do(each, step, namespace) for each in (cluster, memory)]
        assert plain(ours)["owners"] == plain(real)["owners"]
        assert real["spec"]["replicas"] == ours["spec"]["replicas"]
        (theirs,), (mine,) = ([*each["spec"]["template"]["spec"]["containers"]] for each in (real, ours))
        assert theirs["image"] == mine["image"]
        assert (theirs.get("env") or []) == (mine.get("env") or [])
        assert real["metadata"]["generation"] == ours["metadata"]["generation"]


async def test_service_ports_are_owned_by_port_and_protocol(cluster: KubernetesCluster) -> None:
    namespace, memory = f"t-{uuid.uuid4().hex[:10]}", MemoryCluster()
    await cluster.apply(NAMESPACE, {"metadata": {"name": namespace}}, "test")
    step: Op = ("apply", SERVICE, {"spec": {"ports": [{"name": "a", "port": 80}], "selector": {"a": "b"}}}, "a")
    real, ours = [await do(each, step, namespace) for each in (cluster, memory)]
    assert plain(ours)["owners"] == plain(real)["owners"]
