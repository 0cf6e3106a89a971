from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackwright.cli.manifests.load import LARGEST, BadManifest, check, load
from stackwright.cli.manifests.yaml_documents import BadDocument, documents
from stackwright.controllers.infra.clusterapi import CLUSTER
from support.paths import ROOT

CLOUD = """\
apiVersion: lcm.mirantis.com/v1alpha1
kind: OpenStackDeployment
metadata: {name: cloud}
spec: {openstack_version: epoxy, preset: core, size: single}
"""
EXAMPLES = ROOT / "examples"


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


def test_all_errors_of_all_documents_are_reported_together(tmp_path: Path) -> None:
    text = CLOUD.replace("epoxy", "epox").replace("size:", "sizes:") + "---\nkind: Keystone\nspec: {relase: x}\n"
    told = errors(tmp_path, text)
    assert (
        "m.yaml: document 1: spec.openstack_version: 'epox' is not allowed; did you mean epoxy? allowed: 'epoxy'"
        in told
    )
    assert "m.yaml: document 1: spec.size: is required" in told
    assert any(": spec.sizes: unknown field; did you mean size? allowed: " in line for line in told)
    assert "m.yaml: document 2: metadata: is required, with a name" in told
    assert any("apiVersion: is required; allowed: stackwright.dev/v1alpha1" in line for line in told)
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


@pytest.mark.parametrize(
    ("group", "kind", "plural", "namespaced"),
    [
        ("addons", "HelmChartProxy", "helmchartproxies", True),
        ("addons", "ClusterResourceSet", "clusterresourcesets", True),
        ("ipam", "IPAddress", "ipaddresses", True),
        ("ipam", "GlobalInClusterIPPool", "globalinclusterippools", False),
        ("runtime", "ExtensionConfig", "extensionconfigs", False),
        ("controlplane", "KubeadmControlPlane", "kubeadmcontrolplanes", True),
        ("x", "Gateway", "gateways", True),
    ],
)
def test_kinds_of_cluster_api_are_read_if_installed(
    tmp_path: Path, group: str, kind: str, plural: str, namespaced: bool
) -> None:
    text = f"apiVersion: {group}.cluster.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: c}}\nspec: {{address: x}}\n"
    [manifest] = load(written(tmp_path, text), "openstack")
    assert (manifest.kind.plural, manifest.kind.namespaced) == (plural, namespaced)
    assert ("namespace" in manifest.obj["metadata"]) is namespaced


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kind: Cluster\nspec: 5", "spec: takes a mapping, not a number"),
        ("kind: Cluster\nspec: {infrastructureRef: x}", "spec.infrastructureRef: takes a mapping, not text"),
        ("kind: Cluster\nspec: {paused: 'no'}", "spec.paused: takes true or false, not text"),
        ("kind: Machine\nspec: [x]", "spec: takes a mapping, not a list"),
        (
            "kind: Machine\nspec: {bootstrap: {dataSecretName: 5}}",
            "spec.bootstrap.dataSecretName: takes text, not a number",
        ),
        ("kind: MachineDeployment\nspec: x", "spec: takes a mapping, not text"),
        ("kind: Secret\ntype: [x]", "type: takes text, not a list"),
        ("kind: Secret\nimmutable: maybe", "immutable: takes true or false, not text"),
        ("kind: ConfigMap\nimmutable: 1", "immutable: takes true or false, not a number"),
        ("kind: Namespace\nspec: x", "spec: takes a mapping, not text"),
    ],
)
def test_fields_of_other_kinds_have_the_types_that_a_plan_reads(tmp_path: Path, text: str, told: str) -> None:
    core = text.split()[1] in ("Secret", "ConfigMap", "Namespace")
    api_version = "v1" if core else "cluster.x-k8s.io/v1beta2"
    assert errors(tmp_path, f"apiVersion: {api_version}\nmetadata: {{name: c}}\n{text}\n") == [f"m.yaml: {told}"]


def test_an_unknown_kind_names_the_known_ones(tmp_path: Path) -> None:
    [line] = errors(tmp_path, "kind: Pod\n")
    assert "unknown kind 'Pod'; allowed: OpenStackDeployment, OpenStackControlPlane, HelmBundle" in line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: b\nc: [1, 2\nd: e\n", "m.yaml, line 3, column 2: expected ',' or ']', but got ':'"),
        ("kind: x\nkind: y\n", "m.yaml, line 2, column 1: the key kind occurs twice in this mapping"),
        ("", "m.yaml: contains no manifest"),
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


# Those in gitops are for kubectl: their kinds are Flux's.
APPLIED = sorted(path for path in EXAMPLES.rglob("*.yaml") if path.parent.name != "gitops")


@pytest.mark.parametrize("path", APPLIED, ids=lambda path: path.name)
def test_our_examples_are_valid(path: Path) -> None:
    assert load(path, "openstack")


META = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("metadata:\n  name: {{ name }}\n", "m.yaml, line 2, column 10: a key must be a string; render templates"),
        ("spec:\n  on: 1\n", "m.yaml, line 2, column 3: a key must be a string, and YAML reads this one"),
        ("spec:\n  5: 1\n", "m.yaml, line 2, column 3: a key must be a string, and YAML reads this one"),
        ("? [a]\n: 1\n", "m.yaml, line 1, column 3: a key must be a string"),
        (f"spec: {'9' * 5000}\n", "m.yaml, line 1, column 7: the Kubernetes API does not support this number"),
        ("spec: 9223372036854775808\n", "m.yaml, line 1, column 7: the Kubernetes API does not support this number"),
        ("spec: .nan\n", "m.yaml, line 1, column 7: the Kubernetes API does not support this number"),
        ("spec: 1e999\n", "m.yaml, line 1, column 7: the Kubernetes API does not support this number"),
        ("spec: &a\n  b: *a\n", "m.yaml, line 1, column 7: the value of this anchor contains itself"),
        ("spec: &a [*a]\n", "m.yaml, line 1, column 7: the value of this anchor contains itself"),
        ("spec: &a\n  <<: *a\n", "m.yaml, line 1, column 7: the value of this anchor contains itself"),
        ("[" * 3000 + "]" * 3000, "m.yaml, line 1, column 101: nested deeper than 100 levels"),
        ("{a: " * 3000 + "1" + "}" * 3000, "m.yaml, line 1, column 398: nested deeper than 100 levels"),
        ("a: !!python/object/apply:os.system [x]\n", "m.yaml, line 1, column 4: the tag !!python/object"),
        ("a: !!set {b}\n", "m.yaml, line 1, column 4: the tag !!set is not allowed"),
        ("a: !!map [b]\n", "m.yaml, line 1, column 4: the tag !!map is not allowed"),
        ("a: !!int b\n", "m.yaml, line 1, column 4: the Kubernetes API does not support this number"),
        ("a: !!bool b\n", "m.yaml, line 1, column 4: the Kubernetes API does not support this number"),
        ('a: "\\ud800"\n', "m.yaml, line 1, column 4: half of a character"),
        ('a: "\\U00110000"\n', "m.yaml: an escape sequence or a directive contains a number that is too large"),
        ("a: b\nc: \x07\n", "m.yaml, line 2: the character #x0007 is not allowed in YAML"),
        ("%YAML " + "9" * 5000 + ".1\n---\na: b\n", "m.yaml: an escape sequence or a directive"),
        ("kind: [a]\n", 'm.yaml: kind: unknown kind a list; allowed: '),
        ("kind: keystne\n", "m.yaml: kind: unknown kind 'keystne'; did you mean Keystone? allowed: "),
        ("kind: on\n", "m.yaml: kind: unknown kind true; allowed: "),
        ("kind: Secret\napiVersion: on\nmetadata: {name: a}\n", "m.yaml: apiVersion: true is not an apiVersion of "),
    ],
)  # fmt: skip
def test_text_that_is_no_manifest_is_refused_with_its_place(tmp_path: Path, text: str, line: str) -> None:
    [told] = errors(tmp_path, text)
    assert told.startswith(line), told


def test_aliases_that_expand_to_very_much_are_refused(tmp_path: Path) -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 9))
    [told] = errors(tmp_path, f"l0: &l0 [{', '.join(['x'] * 9)}]\n{levels}")
    assert "more than 100000 values in one document" in told


@pytest.mark.parametrize("item", ["*a", "{? *a : 1}", "[*a]"])
def test_aliases_of_a_long_text_are_refused_before_they_are_written_out(tmp_path: Path, item: str) -> None:
    """1 MiB was a request of 382 MiB."""
    [told] = errors(tmp_path, f"k: &a {'x' * (1 << 20)}\nall: [{', '.join([item] * 400)}]\n")
    assert "more than 16 MiB of text in one document" in told


def test_dates_and_times_are_text_as_for_kubectl(tmp_path: Path) -> None:
    text = CLOUD.replace("name: cloud", "name: 2026-11-24, annotations: {when: 22:30, list: 1:50}")
    [manifest] = load(written(tmp_path, text), "x")
    assert manifest.obj["metadata"]["name"] == "2026-11-24"
    assert manifest.obj["metadata"]["annotations"] == {"when": "22:30", "list": "1:50"}


@settings(max_examples=settings.default.max_examples * 8, deadline=None)
@given(st.text(alphabet="abk: -[]{}&*!?|>'\"%#@,\n0123456789.~<=\\xuU", max_size=60))
def test_no_text_causes_a_traceback(text: str) -> None:
    with contextlib.suppress(BadDocument):
        for document in documents(text):
            check(document, "openstack")


METADATA = {
    "finalizers: {a: 1}": "finalizers: takes a list of strings",
    "finalizers: x": "finalizers: takes a list of strings",
    "finalizers: [a.b/c, 5]": "finalizers[1]: is not a valid name of a finalizer",
    "finalizers: [a b]": "finalizers[0]: is not a valid name of a finalizer",
    "ownerReferences: x": "ownerReferences: takes a list of mappings",
    "ownerReferences: [5]": "ownerReferences[0]: takes a mapping of apiVersion, kind, name, uid, ",
    "ownerReferences: [{apiVersion: v1, kind: A, name: a}]": "ownerReferences[0].uid: is required",
    "ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: 5}]": "ownerReferences[0].uid: takes text; quote it",
    "ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: u, x: y}]": "ownerReferences[0].x: unknown field",
    "ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: u, controller: y}]": (
        "ownerReferences[0].controller: takes true or false"
    ),
    "uid: 5": "uid: takes text; quote it",
    "resourceVersion: {}": "resourceVersion: takes text; quote it",
    "resourceVersion: 12": "resourceVersion: takes text; quote it",
    "generateName: [a]": "generateName: takes text; quote it",
    "selfLink: 5": "selfLink: takes text; quote it",
    "generation: x": "generation: takes a whole number",
    "generation: true": "generation: takes a whole number",
    "deletionGracePeriodSeconds: 1.5": "deletionGracePeriodSeconds: takes a whole number",
    "creationTimestamp: x": "creationTimestamp: takes a time such as 2026-",
    "deletionTimestamp: 5": "deletionTimestamp: takes a time such as 2026-",
    "managedFields: [x]": "managedFields: the API server sets this field; remove it",
    "managedFields: 5": "managedFields: the API server sets this field; remove it",
}
EXPORTED = (
    'creationTimestamp: 2026-11-24T22:30:00Z, generation: 3, resourceVersion: "12", uid: u, selfLink: /a, '
    "finalizers: [stackwright.dev/cloud, orphan], "
    "ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: u, controller: true}]"
)


@pytest.mark.parametrize("meta", [EXPORTED, *(f"{name.split(':')[0]}: null" for name in METADATA)])
def test_metadata_of_an_exported_object_is_accepted_as_by_kubectl(tmp_path: Path, meta: str) -> None:
    [manifest] = load(written(tmp_path, CLOUD.replace("name: cloud", f"name: cloud, {meta}")), "x")
    assert manifest.obj["metadata"]["name"] == "cloud"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("name: cloud", "name: Cloud"), "metadata.name: must be lower-case letters, digits,"),
        (("name: cloud", "name: ../../victim"), "metadata.name: must be lower-case letters, digits,"),
        (("name: cloud", "name: 5"), "metadata.name: takes text; quote it"),
        (("name: cloud", "name: a, namespace: a.b"), "metadata.namespace: must be lower-case letters, digits and"),
        (("name: cloud", "name: a, lables: {}"), "metadata.lables: unknown field; did you mean labels? allowed: "),
        (("name: cloud", "name: a, labels: {a: true}"), "metadata.labels.a: takes text; quote it"),
        (("name: cloud", "name: a, labels: {a: b c}"), "metadata.labels.a: takes at most 63 letters"),
        (("name: cloud", "name: a, labels: {a/b/c: d}"), "metadata.labels: 'a/b/c' is not a valid name of a label"),
        *((("name: cloud", f"name: a, {given}"), f"metadata.{told}") for given, told in METADATA.items()),
        (("size: single", 'size: single, draft: "true"'), "spec.draft: takes true or false, not 'true'"),
        (("size: single", "size: single, region_name: 1"), "spec.region_name: takes text; quote it, not 1"),
        (("spec:", "data: {}\nspec:"), "data: unknown field; allowed: apiVersion, kind, metadata, spec"),
    ],
)
def test_values_that_the_api_server_would_reject_are_reported(
    tmp_path: Path, change: tuple[str, str], told: str
) -> None:
    [line] = errors(tmp_path, CLOUD.replace(*change))
    assert line.startswith(f"m.yaml: {told}"), line


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("data: {a: 1}\n", "data.a: takes text; quote it"),
        ("data: {a b: c}\n", "data: '***' is not a valid key"),
        ("spec: {}\n", "spec: unknown field; allowed: apiVersion, kind, metadata, data, binaryData, immutable"),
        ("binaryData: {a: hidden!}\n", "binaryData.a: takes base64"),
    ],
)
def test_companions_are_checked_too_and_their_values_never_shown(tmp_path: Path, more: str, told: str) -> None:
    [line] = errors(tmp_path, META.replace("NAME", "a") + more)
    assert line.startswith(f"m.yaml: {told}")
    assert "hidden" not in line


def test_a_null_field_is_an_absent_one_and_a_null_value_removes_one(tmp_path: Path) -> None:
    more = "size: single, features: null, services: {identity: {keystone: {values: {conf: null}}}}"
    [manifest] = load(written(tmp_path, CLOUD.replace("size: single", more)), "x")
    assert "features" not in manifest.obj["spec"]
    assert manifest.obj["spec"]["services"]["identity"]["keystone"]["values"] == {"conf": None}


def test_a_file_without_end_is_refused() -> None:
    with pytest.raises(BadManifest, match=f"has more than {LARGEST >> 20} MiB"):
        load(Path("/dev/zero"), "openstack")


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind:\n  name: Secret\n  stringData: {password: hunter2-very-secret}\n",
        "apiVersion: {v1: x, stringData: {password: hunter2-very-secret}}\nkind: Secret\nmetadata: {name: a}\n",
        'apiVersion: "token: hunter2-aaaaaaaa"\nkind: Secret\nmetadata: {name: a}\n',
        'apiVersion: v1\nkind: "password: hunter2-very-secret"\n',
        "apiVersion: v1\nkind: [password, hunter2-very-secret]\n",
    ],
)
def test_a_value_in_the_place_of_a_kind_is_not_repeated_if_it_may_contain_a_secret(tmp_path: Path, text: str) -> None:
    """A wrong indentation makes the rest of a Secret the value of such a field."""
    told = errors(tmp_path, text)
    assert told and "hunter2" not in "".join(told)
