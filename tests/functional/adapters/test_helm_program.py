"""HelmCli with the real program against a real API server: records, digests, history, errors."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from stackwright.adapters.helm.command import HelmCli
from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import CONFIGMAP, INGRESS_CLASS, NAMESPACE, SECRET
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.helm.merge import merge
from stackwright.core.helm.records import SELECTOR, manifest_digest, record_name, releases
from stackwright.core.plan import HelmUpgrade
from stackwright.forecast.costs import _restarts
from stackwright.local import tools
from support.paths import ROOT

BINARY = str(tools.binary("helm"))
TEMPLATE = """apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  value: {{ required "value is needed" .Values.value | quote }}
"""


@pytest.fixture
def charts(tmp_path: Path) -> Path:
    chart = tmp_path / "charts/demo"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: demo\nversion: 0.1.0\n")
    (chart / "templates/configmap.yaml").write_text(TEMPLATE)
    return tmp_path / "charts"


@pytest_asyncio.fixture
async def helm(charts: Path, kubeconfig: str, cluster: KubernetesCluster) -> AsyncIterator[HelmCli]:
    made = HelmCli(charts, kubeconfig=kubeconfig, binary=BINARY or "helm", records=cluster)
    yield made
    made.close()


def release(namespace: str, digest: str, name: str = "demo", **values: Any) -> HelmUpgrade:
    return HelmUpgrade(
        (namespace, name), "demo", "", values, digest, {"metadata": {"namespace": namespace, "name": name}}
    )


async def test_the_life_of_a_release(helm: HelmCli, cluster: KubernetesCluster, namespace: str) -> None:
    key = (namespace, "demo")
    await helm.upgrade(release(namespace, "d1", value="one"))
    await helm.upgrade(release(namespace, "d2", value="two"))
    found = releases(await cluster.list(SECRET, namespace, SELECTOR))["demo"]
    assert (found.revision, found.state, found.digest, found.deployed_revision) == (2, "deployed", "d2", 1)
    assert found.updated > 1_700_000_000
    first = (namespace, record_name("demo", 1))
    installed = manifest_digest(await cluster.get(SECRET, first))
    with pytest.raises(TerminalError, match="is not what Helm installed as revision 1"):
        await helm.rollback(key, 1, installed[1:])
    await helm.rollback(key, 1, installed)
    assert manifest_digest(await cluster.get(SECRET, first)) == installed, "although Helm wrote the record again"
    assert ((await cluster.get(CONFIGMAP, key)) or {})["data"] == {"value": "one"}
    found = releases(await cluster.list(SECRET, namespace, SELECTOR))["demo"]
    assert (found.revision, found.digest) == (3, "d1")
    await helm.uninstall(key)
    await helm.uninstall(key)
    assert await cluster.get(CONFIGMAP, key) is None
    assert releases(await cluster.list(SECRET, namespace, SELECTOR)) == {}


VICTIM = "apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: {namespace}}}\n"


@pytest.mark.parametrize("by", ["manifest", "hook"])
@pytest.mark.parametrize("call", ["upgrade", "rollback", "uninstall"])
async def test_a_forged_record_does_nothing_in_another_namespace(
    helm: HelmCli, cluster: KubernetesCluster, namespace: str, call: str, by: str
) -> None:
    victim = f"{namespace}-victim"
    await cluster.apply(NAMESPACE, {"metadata": {"name": victim}}, "test")
    await cluster.apply(SECRET, {"metadata": {"name": "keystone-admin", "namespace": victim}}, "test")
    await helm.upgrade(release(namespace, "d1", value="one"))
    key = (namespace, "sh.helm.release.v1.demo.v1")
    stored = await cluster.get(SECRET, key)
    assert stored
    record = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(stored["data"]["release"]))))
    text = VICTIM.format(kind="Secret", name="keystone-admin", namespace=victim)
    if by == "manifest":
        record["manifest"] += f"---\n{text}"
    else:
        events, policies = ["pre-delete", "pre-upgrade", "pre-rollback"], ["before-hook-creation"]
        hook = {"name": "keystone-admin", "kind": "Secret", "path": "t.yaml", "manifest": text}
        record["hooks"] = [{**hook, "events": events, "weight": 0, "delete_policies": policies}]
    forged = base64.b64encode(base64.b64encode(json.dumps(record).encode())).decode()
    await cluster.patch(SECRET, key, {"data": {"release": forged}})
    before = await cluster.get(SECRET, (victim, "keystone-admin"))
    digest = manifest_digest(await cluster.get(SECRET, key))  # of the forged record
    calls = {
        "upgrade": lambda: helm.upgrade(release(namespace, "d2", value="two")),
        "rollback": lambda: helm.rollback((namespace, "demo"), 1, digest),
        "uninstall": lambda: helm.uninstall((namespace, "demo")),
    }
    with pytest.raises(
        TerminalError, match=rf"Secret {namespace}/sh\.helm\.release\.v1\.demo\.v1, a record of release demo"
    ):
        await calls[call]()
    assert await cluster.get(SECRET, (victim, "keystone-admin")) == before
    await cluster.delete(SECRET, key)
    await helm.uninstall((namespace, "demo"))
    await cluster.delete(NAMESPACE, ("", victim))


INJECTED = (
    "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: evil, namespace: {namespace}}}\ndata: {{a: content}}\n"
)


@pytest.mark.parametrize("installed", [False, True])
@pytest.mark.parametrize(
    ("version", "kind", "own", "cause"),
    [
        ("v1", "ConfigMap", False, r"ConfigMap evil in namespace (\S+)-victim, not in \1$"),
        ("v1", "Secret", True, "Secret evil, of a kind that this chart may not create$"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", True, "ClusterRole evil, of a kind that this chart may not"),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", True, "RoleBinding evil, of a kind that this chart may not"),
    ],
)
async def test_a_value_that_becomes_an_object_of_others_changes_nothing(
    helm: HelmCli, cluster: KubernetesCluster, charts: Path, namespace: str,
    version: str, kind: str, own: bool, cause: str, installed: bool,
) -> None:  # fmt: skip
    """The template is wrong: it accepts a value of several lines."""
    victim = f"{namespace}-victim"
    await cluster.apply(NAMESPACE, {"metadata": {"name": victim}}, "test")
    (charts / "demo/templates/careless.yaml").write_text("# {{ .Values.note }}\n")
    if installed:
        await helm.upgrade(release(namespace, "d1", value="one", note="fine"))
    text = INJECTED.format(version=version, kind=kind, namespace=namespace if own else victim)
    with pytest.raises(TerminalError, match=cause) as error:
        await helm.upgrade(release(namespace, "d2", value="two", note=f"fine\n---\n{text}"))
    assert "content" not in str(error.value) and "\n" not in str(error.value)
    found = releases(await cluster.list(SECRET, namespace, SELECTOR))
    assert [record.digest for record in found.values()] == (["d1"] if installed else [])
    live = await cluster.get(CONFIGMAP, (namespace, "demo"))
    assert (live or {"data": None})["data"] == ({"value": "one"} if installed else None)
    for name in (namespace, victim):
        assert await cluster.get(CONFIGMAP, (name, "evil")) is None
    await helm.uninstall((namespace, "demo"))
    await cluster.delete(NAMESPACE, ("", victim))


async def test_a_value_that_becomes_a_hook_runs_nothing(
    helm: HelmCli, cluster: KubernetesCluster, charts: Path, namespace: str
) -> None:
    """Helm stores hooks separately from the checked manifest. The next call refuses a record with a hook."""
    (charts / "demo/templates/careless.yaml").write_text("# {{ .Values.note }}\n")
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: evil, annotations: {helm.sh/hook: pre-install}}\n"
    await helm.upgrade(release(namespace, "d1", value="one", note=f"fine\n---\n{text}"))
    assert await cluster.get(CONFIGMAP, (namespace, "evil")) is None
    with pytest.raises(TerminalError, match="has hooks"):
        await helm.uninstall((namespace, "demo"))


async def test_no_values_are_taken_from_a_record(helm: HelmCli, cluster: KubernetesCluster, namespace: str) -> None:
    """Helm would reuse the values of the record if none are given."""
    await helm.upgrade(release(namespace, "d1", value="one"))
    with pytest.raises(TerminalError, match="value is needed"):
        await helm.upgrade(release(namespace, "d2"))


async def test_a_shipped_chart_with_an_object_of_the_whole_cluster(
    cluster: KubernetesCluster, kubeconfig: str, namespace: str
) -> None:
    values = yaml.safe_load((ROOT / "tests/golden/charts/ingress/default/values.yaml").read_text())
    values["ingress_class"] = {"name": namespace}
    action = HelmUpgrade((namespace, "i"), "ingress", "", values, "d1", {"metadata": {"namespace": "n", "name": "i"}})
    made = HelmCli(kubeconfig=kubeconfig, binary=BINARY, records=cluster)
    try:
        await made.upgrade(action)
        await made.upgrade(replace(action, digest="d2"))
        first = await cluster.get(SECRET, (namespace, record_name("i", 1)))
        await made.rollback(action.release, 1, manifest_digest(first))
        await cluster.patch(
            INGRESS_CLASS, ("", namespace), {"metadata": {"annotations": {"meta.helm.sh/release-name": "other"}}}
        )
        with pytest.raises(TerminalError, match="contains an IngressClass of another release"):
            await made.uninstall(action.release)
        await cluster.delete(INGRESS_CLASS, ("", namespace))
        await made.uninstall(action.release)
    finally:
        made.close()


async def test_releases_are_installed_side_by_side(helm: HelmCli, cluster: KubernetesCluster, namespace: str) -> None:
    await asyncio.gather(*(helm.upgrade(release(namespace, "d", f"demo-{n}", value="x")) for n in range(6)))
    found = releases(await cluster.list(SECRET, namespace, SELECTOR))
    assert {name: record.state for name, record in found.items()} == {f"demo-{n}": "deployed" for n in range(6)}


async def test_a_broken_template_is_refused_with_its_reason(helm: HelmCli, namespace: str) -> None:
    with pytest.raises(TerminalError, match="value is needed"):
        await helm.upgrade(release(namespace, "d"))


async def test_a_broken_template_leaves_the_release_as_it_is(
    helm: HelmCli, cluster: KubernetesCluster, namespace: str
) -> None:
    await helm.upgrade(release(namespace, "d1", value="one"))
    with pytest.raises(TerminalError, match="value is needed"):
        await helm.upgrade(release(namespace, "d2", value=None))
    found = releases(await cluster.list(SECRET, namespace, SELECTOR))["demo"]
    assert (found.revision, found.state, found.digest) == (1, "deployed", "d1")


async def test_a_manifest_that_the_api_refuses(helm: HelmCli, charts: Path, namespace: str) -> None:
    (charts / "demo/templates/bad.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_Valid}\n")
    with pytest.raises(TerminalError, match="Not_Valid"):
        await helm.upgrade(release(namespace, "d", value="x"))


async def test_why_the_api_refused_an_object_is_in_the_record(
    helm: HelmCli, cluster: KubernetesCluster, charts: Path, namespace: str
) -> None:
    await helm.upgrade(release(namespace, "d1", value="x"))
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: p}\n"
    claim += "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: lots}}}\n"
    (charts / "demo/templates/claim.yaml").write_text(claim)
    with pytest.raises(TerminalError, match="quantities must match"):
        await helm.upgrade(release(namespace, "d2", value="x"))
    found = releases(await cluster.list(SECRET, namespace, SELECTOR))["demo"]
    assert (found.state, found.digest) == ("failed", "d2")
    assert "quantities must match" in found.cause


async def test_the_record_of_a_real_release_predicts_which_pods_restart(
    cluster: KubernetesCluster, kubeconfig: str, namespace: str
) -> None:
    values = yaml.safe_load((ROOT / "tests/golden/values/core-single.yaml").read_text())["openstack-keystone"]
    owner = {"metadata": {"namespace": namespace, "name": "openstack-keystone"}}
    action = HelmUpgrade((namespace, "k"), "keystone", "", values, "d1", owner)
    made = HelmCli(kubeconfig=kubeconfig, binary=BINARY, records=cluster)

    async def render(action: HelmUpgrade) -> str:
        return await made.render(action.chart, action.values, action.release)

    try:
        await made.upgrade(action)
        secret = releases(await cluster.list(SECRET, namespace, SELECTOR))["k"].secret
        assert await _restarts(cluster, secret, action, render) == ()
        other = replace(action, values=merge(values, {"conf": {"keystone": {"token": {"expiration": 7}}}}))
        assert "Deployment keystone-api" in {r.workload for r in await _restarts(cluster, secret, other, render)}
    finally:
        made.close()


async def test_rendering_needs_no_cluster(charts: Path) -> None:
    helm = HelmCli(charts, kubeconfig="/nowhere", binary=BINARY or "helm")
    assert 'value: "shown"' in await helm.render("demo", {"value": "shown"}, ("n", "demo"))
    helm.close()


async def test_the_operators_chart_can_be_rendered_as_doctor_does() -> None:
    """It requires a newer Kubernetes than the one that Helm assumes without a cluster."""
    helm = HelmCli(kubeconfig="/nowhere", binary=BINARY)
    images = {"tags": {"stackwright": "operator"}, "references": {}}
    assert "kind: Deployment" in await helm.render("stackwright", {"images": images}, ("stackwright", "stackwright"))
    helm.close()


async def test_no_api_server_is_not_yet(charts: Path, tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: u, user: {}}]\n"
    )
    helm = HelmCli(charts, kubeconfig=str(config), binary=BINARY or "helm")
    with pytest.raises(TransientError, match="unreachable"):
        await helm.upgrade(release("default", "d", value="x"))
    helm.close()
