"""Objects of Cluster API and Kubernetes beside ours, in a file or in the cluster, with any content of their fields."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stackwright.api.infra.cluster.cluster import OpenStackCluster
from stackwright.api.infra.floatingippool import OpenStackFloatingIPPool
from stackwright.api.infra.machine import OpenStackMachine
from stackwright.api.infra.server import OpenStackServer
from stackwright.api.kinds import CONFIGMAP, NAMESPACE, SECRET
from stackwright.api.meta import Kind
from stackwright.cli.manifests.load import MANAGER, BadManifest, Manifest, check, load
from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM, CLUSTER, IMAGE, MACHINE, NAME
from stackwright.core.errors import NotServed
from stackwright.core.plan import Key, Object
from stackwright.core.settings import Settings
from stackwright.forecast.plan import forecast
from stackwright.forecast.simulate import Cause, Outside, Request
from stackwright.runtime.memory import MemoryCluster

SPACE = "demo"
IDENTITY = {"name": "clouds", "cloudName": "mine"}
PART = {"flavor": "f", "image": {"filter": {"name": "i"}}}
LABELS = {NAME: "c"}
OWNER = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "name": "m", "uid": "u"}
# One of our objects for each controller that reads other objects.
OURS: tuple[tuple[Kind, str, Object, Object], ...] = (
    (OpenStackCluster.KIND, "c", {"identityRef": IDENTITY, "managedSubnets": [{"cidr": "10.6.0.0/24"}]}, {}),
    (OpenStackMachine.KIND, "m", PART, {"labels": LABELS, "ownerReferences": [OWNER]}),
    (OpenStackFloatingIPPool.KIND, "p", {"identityRef": IDENTITY}, {"labels": LABELS}),
    (
        OpenStackServer.KIND,
        "s",
        {
            "identityRef": IDENTITY, "flavor": "f", "image": {"imageRef": {"name": "i"}}, "sshKeyName": "k",
            "ports": [{"network": {"filter": {"name": "n"}}}],
            "floatingIPPoolRef": {"kind": "OpenStackFloatingIPPool", "name": "p"},
        },
        {"labels": LABELS},
    ),
)  # fmt: skip
READ: Mapping[Kind, str] = {CLUSTER: "c", MACHINE: "m", CLAIM: "s-floating-ip-address", ADDRESS: "x", IMAGE: "i"}
WRITTEN: Mapping[Kind, str] = {
    **{kind: name for kind, name in READ.items() if kind != IMAGE}, SECRET: "clouds", CONFIGMAP: "c", NAMESPACE: SPACE,
    Kind("bootstrap.cluster.x-k8s.io", "v1beta1", "KubeadmConfig", "kubeadmconfigs"): "k",
}  # fmt: skip
REFERENCE = {"apiGroup": OpenStackFloatingIPPool.KIND.group, "kind": "OpenStackFloatingIPPool", "name": "p"}
# Names of fields that are read, and of lists that Kubernetes merges by keys.
NAMES = st.sampled_from(
    (
        f"{NAME} paused infrastructureRef bootstrap dataSecretName failureDomain poolRef address addressRef conditions "
        "type status reason message lastTransitionTime id kind name apiGroup apiVersion uid ports env finalizers "
        "selector labels annotations ownerReferences"
    ).split()
)
TEXTS = st.sampled_from(["c", "m", "p", "x", "Ready", "True", "Cluster", "Machine", "", "../x", "a\nb", "\x1b[0m"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
    | st.just(REFERENCE),
    lambda inner: st.dictionaries(NAMES, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=10,
)  # fmt: skip
FEWER = settings(max_examples=settings.default.max_examples // 2)  # a forecast takes a while


def ours() -> list[Manifest]:
    kinds = [(kind, {"metadata": {"name": name, **meta}, "spec": spec}) for kind, name, spec, meta in OURS]
    found = [check({"apiVersion": kind.api_version, "kind": kind.kind, **obj}, SPACE) for kind, obj in kinds]
    assert not [errors for _, errors in found if errors]
    return [manifest for manifest, _ in found if manifest]


class Odd(MemoryCluster):
    """A cluster with objects of other kinds, whose content is arbitrary except for their names."""

    odd: Mapping[Kind, Object]

    async def get(self, kind: Kind, key: Key) -> Object | None:
        return self.odd[kind] if key == (SPACE, READ.get(kind)) else await super().get(kind, key)

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        return [self.odd[kind]] if kind in self.odd else await super().list(kind, namespace, labels)


async def planned(cluster: MemoryCluster, manifests: list[Manifest]) -> dict[str, Cause]:
    applied = tuple((each.kind, each.obj) for each in manifests)
    _, stuck = await forecast(cluster, Settings({}, {}), Request(SPACE, applied, (), MANAGER), 1e9, Outside(), None)
    return stuck


@FEWER
@given(st.sampled_from(list(WRITTEN)), st.dictionaries(st.sampled_from(["spec", "status", "metadata"]), JSON))
@example(CLUSTER, {"spec": 5})
@example(CLUSTER, {"spec": {"infrastructureRef": "x"}})
@example(MACHINE, {"spec": {"bootstrap": "x"}})
@example(CLAIM, {"spec": {"poolRef": "x"}})
@example(ADDRESS, {})
@example(CLUSTER, {"spec": {"ports": [5], "env": [{}, "x"]}})
@example(CLUSTER, {"status": {"conditions": 5}, "metadata": {"labels": {"a": 5}}})
def test_a_plan_rejects_or_uses_any_companion(kind: Kind, content: Object) -> None:
    meta = content.get("metadata", {})
    named = {"name": WRITTEN[kind], **(meta if isinstance(meta, dict) else {"labels": meta})}
    document = {"apiVersion": kind.api_version, "kind": kind.kind, **content, "metadata": named}
    if kind in (SECRET, CONFIGMAP):
        document["immutable"] = document.pop("spec", None)
        document.pop("status", None)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.json"
        path.write_text(json.dumps(document))
        try:
            manifests = load(path, SPACE)
        except BadManifest as error:
            assert all(line.startswith(str(path)) and line.isprintable() for line in str(error).splitlines())
            return
    asyncio.run(planned(MemoryCluster(), [*manifests, *ours()]))


@st.composite
def contents(draw: st.DrawFn) -> dict[Kind, Object]:
    """An object of each kind that is read; an API server only guarantees the fields of the metadata."""
    found = {}
    for kind, name in READ.items():
        meta = draw(st.dictionaries(st.sampled_from(["labels", "annotations", "ownerReferences"]), JSON))
        odd = draw(st.dictionaries(st.sampled_from(["spec", "status"]), JSON))
        own = {"name": name, "namespace": SPACE, "uid": name, "resourceVersion": "1"}
        found[kind] = {"apiVersion": kind.api_version, "kind": kind.kind, **odd, "metadata": {**meta, **own}}
    return found


@FEWER
@given(contents())
def test_objects_of_others_may_have_any_content(odd: dict[Kind, Object]) -> None:
    cluster = Odd()
    cluster.odd = odd
    asyncio.run(planned(cluster, ours()))


class Serving(MemoryCluster):
    """A cluster that serves Cluster API in these versions."""

    versions: tuple[str, ...]

    async def get(self, kind: Kind, key: Key) -> Object | None:
        self._check(kind)
        return await super().get(kind, key)

    async def list(self, kind: Kind, namespace: str = "", labels: Mapping[str, str] | None = None) -> list[Object]:
        self._check(kind)
        return await super().list(kind, namespace, labels)

    def _check(self, kind: Kind) -> None:
        if kind == CLUSTER and kind.version not in self.versions:
            raise NotServed(f"no {kind.api_version}", kind.group)


@pytest.mark.parametrize(
    ("served", "written"),
    [
        (("v1beta1",), "v1beta1"),
        (("v1beta1", "v1beta2"), "v1beta1"),
        (("v1beta1", "v1beta2"), "v1beta2"),
        (("v1beta2",), "v1beta2"),
    ],
)
@pytest.mark.parametrize("labelled", [True, False])
async def test_a_plan_sees_a_cluster_of_the_file_in_any_version(
    served: tuple[str, ...], written: str, labelled: bool
) -> None:
    cluster = Serving()
    cluster.versions = served
    reference = {"kind": "OpenStackCluster", "name": "c"}
    spec = {"paused": True, "infrastructureRef": reference}
    document: Any = {"apiVersion": f"cluster.x-k8s.io/{written}", "kind": "Cluster", "spec": spec}
    manifest, errors = check({**document, "metadata": {"name": "c" if labelled else "top"}}, SPACE)
    assert manifest, errors
    own = ours()[0]
    assert own.kind == OpenStackCluster.KIND
    if labelled:
        own.obj["metadata"]["labels"] = LABELS
    stuck = await planned(cluster, [manifest, own])
    name = "c" if labelled else "top"
    assert str(stuck["OpenStackCluster demo/c"]) == f"Paused by spec.paused of Cluster {name} (Paused)"
