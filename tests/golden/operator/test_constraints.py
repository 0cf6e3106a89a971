"""SecurityContextConstraints of OpenShift permit what the pods of a cloud do, and no account more than it uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from support.paths import GOLDEN, ROOT
from tests.golden.operator.test_certificate import rendered
from tests.golden.test_charts import helm

OPENSHIFT = "--api-versions=security.openshift.io/v1"
KIND = "SecurityContextConstraints"
SPACE = "openstack"
PROVISIONER = (
    "local-volume-provisioner"  # not of a cloud: its own chart has its constraints, for its release's namespace
)
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")


def constraints(*words: str) -> list[dict[str, Any]]:
    return [obj for obj in rendered(*words) if obj["kind"] == KIND]


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """(ServiceAccount, pod spec) of every workload of the golden charts of services."""
    for path in sorted((GOLDEN / "charts").rglob("*.yaml")):
        chart = path.relative_to(GOLDEN / "charts").parts[0]
        if chart in ("stackwright", PROVISIONER):
            continue
        for obj in yaml.load_all(path.read_text(), yaml.CSafeLoader):
            if obj and obj.get("kind") in WORKLOADS:
                spec = obj["spec"]["jobTemplate"]["spec"] if obj["kind"] == "CronJob" else obj["spec"]
                pod = spec["template"]["spec"]
                yield pod.get("serviceAccountName", "default"), pod


def permits(given: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """What the admission of OpenShift compares; users and groups of containers are never limited by ours."""
    kinds = {kind for volume in pod.get("volumes", []) for kind in volume if kind != "name"}
    if not kinds <= set(given["volumes"]) or ("hostPath" in kinds and not given["allowHostDirVolumePlugin"]):
        return False
    used = {"allowHostNetwork": "hostNetwork", "allowHostPID": "hostPID", "allowHostIPC": "hostIPC"}
    if any(pod.get(field) and not given[allowed] for allowed, field in used.items()):
        return False
    whole = pod.get("securityContext") or {}
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        own = container.get("securityContext") or {}
        capabilities = own.get("capabilities") or {}
        profile = own.get("seccompProfile", whole.get("seccompProfile", {})).get("type")
        added = set(capabilities.get("add", []))
        if not added <= set(given["allowedCapabilities"]) or added & set(given["requiredDropCapabilities"]):
            return False
        if own.get("privileged") and not given["allowPrivilegedContainer"]:
            return False
        if own.get("allowPrivilegeEscalation", True) and not given["allowPrivilegeEscalation"]:
            return False
        # In the network of the node, each port of a container is one of the node.
        ports = [port for port in container.get("ports", []) if "hostPort" in port or pod.get("hostNetwork")]
        if ports and not given["allowHostPorts"]:
            return False
        if profile != "RuntimeDefault" or given["seccompProfiles"] != ["runtime/default"]:
            return False
    return True


def usable(given: Mapping[str, Any], account: str) -> bool:
    own = f"system:serviceaccount:{SPACE}:{account}"
    return own in given["users"] or f"system:serviceaccounts:{SPACE}" in given["groups"]


@pytest.mark.parametrize(("value", "installed", "made"), [
    ("auto", False, False), ("auto", True, True), ("true", False, True), ("false", True, False),
])  # fmt: skip
def test_they_depend_on_the_value_and_on_their_kind(value: str, installed: bool, made: bool) -> None:
    words = [f"--set=security_context_constraints.enabled={value}", *([OPENSHIFT] if installed else [])]
    assert bool(constraints(*words)) is made


def test_without_namespaces_only_the_operators_pods_may_use_them() -> None:
    [one] = constraints(OPENSHIFT)
    assert one["users"] == ["system:serviceaccount:default:stackwright"] and one["groups"] == []


@pytest.mark.parametrize("value", ["namespaces", "security_context_constraints.namespaces"])
def test_they_name_accounts_of_the_namespaces_of_clouds_alone(value: str) -> None:
    found = constraints(OPENSHIFT, f"--set={value}={{{SPACE},other}}")
    assert len(found) == 4
    operator = "system:serviceaccount:default:stackwright"
    users = {user for each in found for user in each["users"]} - {operator}
    assert {user.split(":")[2] for user in users} == {SPACE, "other"}
    groups = {group for each in found for group in each["groups"]}
    assert groups == {f"system:serviceaccounts:{SPACE}", "system:serviceaccounts:other"}


def test_own_namespaces_replace_those_of_the_operator() -> None:
    words = ("--set=namespaces={a}", "--set=security_context_constraints.namespaces={b}")
    groups = {group for each in constraints(OPENSHIFT, *words) for group in each["groups"]}
    assert groups == {"system:serviceaccounts:b"}


def test_each_pod_of_a_cloud_may_run() -> None:
    found = constraints(OPENSHIFT, f"--set=namespaces={{{SPACE}}}")
    every = list(pods())
    assert len(every) > 100
    refused = {
        account for account, pod in every if not any(permits(each, pod) for each in found if usable(each, account))
    }
    assert refused == set()


def test_each_named_account_needs_its_constraints_and_each_permission_is_used() -> None:
    found = constraints(OPENSHIFT, f"--set=namespaces={{{SPACE}}}")
    every = list(pods())
    common, *special = sorted(found, key=lambda each: not each["groups"])
    for each in special:
        names = {user.rsplit(":", 1)[1] for user in each["users"]}
        own = [pod for account, pod in every if account in names]
        needing = {account for account, pod in every if account in names and not permits(common, pod)}
        assert needing == names
        for field, value in each.items():
            if value is True and field != "allowPrivilegeEscalation":
                assert not all(permits({**each, field: False}, pod) for pod in own), (each["metadata"]["name"], field)
        for capability in each["allowedCapabilities"]:
            fewer = [name for name in each["allowedCapabilities"] if name != capability]
            assert not all(permits({**each, "allowedCapabilities": fewer}, pod) for pod in own), capability


def test_the_operators_own_pod_may_run() -> None:
    objects = rendered(OPENSHIFT)
    [one] = [obj for obj in objects if obj["kind"] == KIND]
    [pod] = [obj["spec"]["template"]["spec"] for obj in objects if obj["kind"] == "Deployment"]
    assert f"system:serviceaccount:default:{pod['serviceAccountName']}" in one["users"] and permits(one, pod)


def provisioner(*words: str) -> list[dict[str, Any]]:
    path, options = str(ROOT / "charts" / PROVISIONER), ("--namespace=kube-system", "--set=images.tags.stackwright=x")
    done = helm("template", PROVISIONER, path, *options, *words)
    assert done.returncode == 0, done.stderr
    return [obj for obj in yaml.load_all(done.stdout, yaml.CSafeLoader) if obj]


@pytest.mark.parametrize(("value", "installed", "made"), [
    ("auto", False, False), ("auto", True, True), ("true", False, True), ("false", True, False),
])  # fmt: skip
def test_those_of_the_provisioner_depend_on_the_same(value: str, installed: bool, made: bool) -> None:
    words = [f"--set=security_context_constraints.enabled={value}", *([OPENSHIFT] if installed else [])]
    assert any(obj["kind"] == KIND for obj in provisioner(*words)) is made


def test_the_provisioner_may_run_and_has_only_what_it_uses() -> None:
    objects = provisioner(OPENSHIFT)
    [one] = [obj for obj in objects if obj["kind"] == KIND]
    [pod] = [obj["spec"]["template"]["spec"] for obj in objects if obj["kind"] == "DaemonSet"]
    assert one["users"] == [f"system:serviceaccount:kube-system:{pod['serviceAccountName']}"] and one["groups"] == []
    assert permits(one, pod)
    used = {kind for volume in pod["volumes"] for kind in volume if kind != "name"}
    assert set(one["volumes"]) == used | {"projected"}, "the token of the account is a projected volume"
    assert all(each["securityContext"]["readOnlyRootFilesystem"] for each in pod["containers"])
    assert [name for name, value in one.items() if value is True] == [
        "readOnlyRootFilesystem",
        "allowHostDirVolumePlugin",
    ]
    for field in ("allowedCapabilities", "volumes"):
        for each in {*one[field]} - {"projected"}:
            assert not permits({**one, field: [other for other in one[field] if other != each]}, pod), each
