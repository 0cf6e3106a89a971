"""An operator that manages only some namespaces: its rights, by the rules of its chart, and its process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest_asyncio
import yaml

from stackwright.adapters.helm.command import KUBERNETES
from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.infra.identity import OpenStackClusterIdentity
from stackwright.api.infra.server import OpenStackServer
from stackwright.api.kinds import LEASE, NAMESPACE
from stackwright.core import conditions
from stackwright.local.tools import binary
from stackwright.runtime.lease.record import NAME
from support.infra_specs import SERVER
from support.paths import ROOT
from tests.functional.runtime.test_lease import Operator, until

OWN, MANAGED, FOREIGN = "ns-operator", ("ns-a", "ns-b"), "ns-foreign"
RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
IDENTITY = {"type": "ClusterIdentity", "name": "of-foreign", "cloudName": "x"}


@dataclass(frozen=True)
class Limited:
    """The kubeconfig of the operator's service account, and the roles of the chart."""

    kubeconfig: str
    roles: list[dict[str, Any]]

    def rules(self, kind: str, namespace: str = "") -> list[dict[str, Any]]:
        found = [
            each for each in self.roles if (each["kind"], each["metadata"].get("namespace", "")) == (kind, namespace)
        ]
        return [rule for each in found for rule in each["rules"] if "cluster-api" not in each["metadata"]["name"]]


def kubectl(kubeconfig: str, *words: str, given: str = "") -> str:
    argv = [str(binary("kubectl")), "--kubeconfig", kubeconfig, *words]
    done = subprocess.run(argv, input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def installed(kubeconfig: str) -> Iterator[list[dict[str, Any]]]:
    """The service account and the roles of the chart."""
    words = ["template", "x", str(ROOT / "charts/stackwright"), f"--kube-version={KUBERNETES}", f"--namespace={OWN}"]
    values = f"images.tags.stackwright=unused,crds.install=false,namespaces={{{','.join(MANAGED)}}}"
    done = subprocess.run([str(binary("helm")), *words, "--set", values], capture_output=True, text=True, check=True)
    objects = [each for each in yaml.safe_load_all(done.stdout) if each and each["kind"] in RIGHTS]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    kubectl(kubeconfig, "apply", "-f", "-", given=text)
    yield [each for each in objects if each["kind"] in ("Role", "ClusterRole")]
    kubectl(kubeconfig, "delete", "--wait=false", "-f", "-", given=text)


@pytest_asyncio.fixture
async def limited(kubeconfig: str, cluster: KubernetesCluster, tmp_path: Path) -> AsyncIterator[Limited]:
    for name in (OWN, *MANAGED, FOREIGN):
        await cluster.apply(NAMESPACE, {"metadata": {"name": name}}, "test")
    with installed(kubeconfig) as roles:
        config = yaml.safe_load(Path(kubeconfig).read_text())
        config["users"][0]["user"] = {"token": kubectl(kubeconfig, "create", "token", "stackwright", "-n", OWN).strip()}
        path = tmp_path / "operator.conf"
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config))
        yield Limited(str(path), roles)


async def allowed(cluster: KubernetesCluster, rule: dict[str, Any], namespace: str = "") -> set[tuple[str, ...]]:
    """The actions of a rule that the API server allows: (verb, group, resource)."""
    found = set()
    for group, name, verb in actions(rule):
        resource, _, sub = name.partition("/")
        asked = {"verb": verb, "group": group, "resource": resource, "subresource": sub, "namespace": namespace}
        asked["name"] = next(iter(rule.get("resourceNames", ())), "")
        if await cluster.is_allowed({key: value for key, value in asked.items() if value}):
            found.add((group, name, verb))
    return found


def actions(rule: dict[str, Any]) -> set[tuple[str, ...]]:
    return {(group, name, verb) for group in rule["apiGroups"] for name in rule["resources"] for verb in rule["verbs"]}


async def test_the_rights_end_at_the_managed_namespaces(limited: Limited) -> None:
    operator = KubernetesCluster.from_file(limited.kubeconfig)
    try:
        for rule in limited.rules("ClusterRole"):
            assert await allowed(operator, rule) == actions(rule)
            assert not {"secrets", "pods", "configmaps", "roles"} & {*rule["resources"]}
        for namespace in MANAGED:
            rules = limited.rules("Role", namespace)
            assert len(rules) > 10
            for rule in rules:
                assert await allowed(operator, rule, namespace) == actions(rule)
        for rule in limited.rules("Role", MANAGED[0]):
            for elsewhere in (FOREIGN, "kube-system", ""):
                assert await allowed(operator, rule, elsewhere) == set(), elsewhere
        secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch", "delete"]}
        assert await allowed(operator, secrets, OWN) == {("", "secrets", "get")}
    finally:
        await operator.close()


async def ready(cluster: KubernetesCluster, namespace: str) -> tuple[str, str]:
    found = conditions.find(await cluster.get(OpenStackServer.KIND, (namespace, "vm")) or {}) or {}
    return str(found.get("reason", "")), str(found.get("message", ""))


async def test_a_process_with_these_rights_works_there_and_nowhere_else(
    limited: Limited, cluster: KubernetesCluster, tmp_path: Path
) -> None:
    meta = {"name": IDENTITY["name"]}
    shared = {"secretRef": {"name": "credentials", "namespace": FOREIGN}}
    await cluster.apply(OpenStackClusterIdentity.KIND, {"metadata": meta, "spec": shared}, "test")
    own = {**SERVER, "identityRef": {"name": "missing", "cloudName": "x"}}
    specs = {MANAGED[0]: own, MANAGED[1]: {**SERVER, "identityRef": IDENTITY}, FOREIGN: own}
    for namespace, spec in specs.items():
        await cluster.apply(
            OpenStackServer.KIND, {"metadata": {"name": "vm", "namespace": namespace}, "spec": spec}, "t"
        )
    await cluster.create(LEASE, {"metadata": {"namespace": OWN, "name": NAME}}, "test")
    words = ("--controllers=servers", f"--namespaces={','.join(MANAGED)}")
    operator = Operator("limited", limited.kubeconfig, OWN, tmp_path, *words)
    try:
        await until(lambda: operator.code("/readyz"), 200, operator)
        for namespace, reason in zip(MANAGED, ("CredentialsMissing", "BlockedNamespace"), strict=True):

            async def reasoned(space: str = namespace) -> str:
                return (await ready(cluster, space))[0]

            await until(reasoned, reason, operator)
        told = (await ready(cluster, MANAGED[1]))[1]
        assert f"does not manage the namespace '{FOREIGN}'" in told and "`namespaces`" in told
        await cluster.delete(OpenStackServer.KIND, (MANAGED[0], "vm"))

        async def gone() -> bool:
            return await cluster.get(OpenStackServer.KIND, (MANAGED[0], "vm")) is None

        await until(gone, True, operator)
        foreign = await cluster.get(OpenStackServer.KIND, (FOREIGN, "vm"))
        assert foreign is not None and not conditions.find(foreign)
        assert "finalizers" not in foreign["metadata"]
        assert await operator.code("/healthz") == 200, str(operator)
        log = operator.log.read_text()
        assert "watch failed" not in log and "forbidden" not in log.lower() and "lacks the RBAC" not in log
    finally:
        operator.process.kill()
        operator.process.wait()
        for namespace in specs:
            if await cluster.get(OpenStackServer.KIND, (namespace, "vm")):
                await cluster.patch(OpenStackServer.KIND, (namespace, "vm"), {"metadata": {"finalizers": None}})
            await cluster.delete(OpenStackServer.KIND, (namespace, "vm"))
        await cluster.delete(OpenStackClusterIdentity.KIND, ("", str(IDENTITY["name"])))
