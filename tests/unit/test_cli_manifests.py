from __future__ import annotations

from pathlib import Path

import pytest

from stackwright.cli.manifests import BadManifest, load
from stackwright.core.clusterapi import CLUSTER

CLOUD = """\
apiVersion: lcm.mirantis.com/v1alpha1
kind: OpenStackDeployment
metadata: {name: cloud}
spec: {openstack_version: epoxy, preset: core, size: single}
"""
EXAMPLES = Path(__file__).parents[2] / "examples"


def written(folder: Path, text: str) -> Path:
    path = folder / "m.yaml"
    path.write_text(text)
    return path


def errors(folder: Path, text: str) -> list[str]:
    with pytest.raises(BadManifest) as caught:
        load(written(folder, text), "openstack")
    return [line.replace(f"{folder}/", "") for line in str(caught.value).splitlines()]


def test_a_cloud_gets_the_namespace(tmp_path: Path) -> None:
    [manifest] = load(written(tmp_path, CLOUD), "openstack")
    assert manifest.name == "OpenStackDeployment openstack/cloud"


def test_all_errors_of_all_documents_at_once(tmp_path: Path) -> None:
    text = CLOUD.replace("epoxy", "epox").replace("size:", "sizes:") + "---\nkind: Keystone\nspec: {relase: x}\n"
    told = errors(tmp_path, text)
    assert "m.yaml: document 1: spec.openstack_version: 'epox' is not allowed; allowed: 'epoxy'" in told
    assert "m.yaml: document 1: spec.size: is required" in told
    assert any(line.startswith("m.yaml: document 1: spec.sizes: unknown field; allowed: ") for line in told)
    assert "m.yaml: document 2: metadata: is required, with a name" in told
    assert any("apiVersion: None is not that of Keystone; allowed: stackwright.dev/v1alpha1" in line for line in told)
    assert any(line.startswith("m.yaml: document 2: spec.relase: unknown field") for line in told)


def test_cluster_apis_own_kinds_may_be_in_the_file(tmp_path: Path) -> None:
    """As in every manifest of a cluster; unknown kinds of our group and of others are still refused."""
    text = """\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: c}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: c, namespace: other}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: c}
"""
    cluster, template, class_ = load(written(tmp_path, text), "openstack")
    assert (cluster.kind, cluster.name) == (CLUSTER, "Cluster openstack/c")
    assert template.kind.plural == "kubeadmconfigtemplates"
    assert template.obj["metadata"]["namespace"] == "other"
    assert class_.kind.plural == "clusterclasses"
    for api_version in (
        "infrastructure.cluster.x-k8s.io/v1beta1",
        "apps/v1",
        "v1",
        "evil-cluster.x-k8s.io/v1",
        "cluster.x-k8s.io/../v1",
    ):
        [line] = errors(tmp_path, f"apiVersion: {api_version}\nkind: Sheep\nmetadata: {{name: c}}\n")
        assert "unknown kind 'Sheep'; allowed: " in line


def test_an_unknown_kind_names_the_known_ones(tmp_path: Path) -> None:
    [line] = errors(tmp_path, "kind: Pod\n")
    assert "unknown kind 'Pod'; allowed: OpenStackDeployment, OpenStackControlPlane, HelmBundle" in line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: b\nc: [1, 2\nd: e\n", "m.yaml, line 3, column 2: expected ',' or ']', but got ':'"),
        ("kind: x\nkind: y\n", "m.yaml, line 2, column 1: the key kind is here twice"),
        ("", "m.yaml: there is nothing in it"),
        ("- a\n", "m.yaml: is not a mapping; write apiVersion, kind, metadata and spec"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, told: str) -> None:
    assert errors(tmp_path, text) == [told]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadManifest, match=r"nowhere\.yaml: No such file or directory"):
        load(tmp_path / "nowhere.yaml", "openstack")


def test_a_status_is_not_applied(tmp_path: Path) -> None:
    [manifest] = load(written(tmp_path, CLOUD + "status: {progress: 1/1}\n"), "x")
    assert "status" not in manifest.obj


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.yaml")), ids=lambda path: path.name)
def test_our_examples_are_valid(path: Path) -> None:
    assert load(path, "openstack")
