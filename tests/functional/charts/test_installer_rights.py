"""The rights that `stackwright doctor` checks, against helm and RBAC: they suffice for an installation."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stackwright.adapters.helm.command import KUBERNETES
from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import NAMESPACE
from stackwright.api.meta import Kind
from stackwright.examine.rights import Right, needed
from stackwright.forecast.costs import objects
from stackwright.local import tools
from support.control_plane import control_plane
from support.paths import ROOT

CHART = ROOT / "charts/stackwright"
PLACE = ("stackwright", CHART, "--namespace=stackwright", "--set=images.tags.stackwright=a.test/o:1")
RBAC = "rbac.authorization.k8s.io"
# Kinds by which a user could gain rights.
KINDS = {f"{kind}.{RBAC}" for kind in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")} | {
    f"{kind}.admissionregistration.k8s.io" for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
}
Program = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of an administrator of a cluster without our kinds."""
    with control_plane(tmp_path_factory.mktemp("control-plane"), limit=180) as path:
        yield path


@pytest.fixture
def helm(kubeconfig: Path, tmp_path: Path) -> Program:
    return partial(run, "helm", kubeconfig, tmp_path)


@pytest.fixture
def kubectl(kubeconfig: Path, tmp_path: Path) -> Program:
    return partial(run, "kubectl", kubeconfig, tmp_path)


def run(
    program: str, kubeconfig: Path, home: Path, *words: str | Path, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    env = {"KUBECONFIG": str(kubeconfig), "HELM_CACHE_HOME": str(home), "HOME": str(home)}
    argv = [tools.binary(program), *words]
    return subprocess.run(argv, env=env, input=stdin, capture_output=True, text=True, timeout=300, check=False)


def test_who_has_exactly_the_needed_rights_may_install(kubeconfig: Path, helm: Program, kubectl: Program) -> None:
    rendered = helm("template", *PLACE, f"--kube-version={KUBERNETES}", "--set=crds.install=false").stdout
    rights = needed(objects(rendered) or ())
    plain = [replace(right, instead=()) for right in rights]
    asyncio.run(
        grant(
            kubeconfig,
            {
                "exact": plain,
                "owner": [each for right in rights for each in right.instead or [right]],
                # A user who may write Leases may grant the rights of the chart's Role.
                "poor": [
                    each
                    for each in plain
                    if each.verb not in ("bind", "escalate") and each.resource not in ("*", "leases")
                ],
            },
        )
    )
    installs = ("upgrade", "--install", *PLACE, "--create-namespace", "--kube-as-user=exact")
    done = helm(*installs)
    assert done.returncode == 0, done.stderr[-2000:]
    waited = helm(*installs, "--wait", "--timeout=5s")  # no kubelet runs the pod
    assert waited.returncode != 0 and "forbidden" not in waited.stderr.lower(), waited.stderr[-2000:]

    def refused(user: str) -> set[str]:
        """Kinds of the chart's objects that the user may not create. RBAC is checked before their existence."""
        done = kubectl("create", "--dry-run=server", "--filename=-", f"--as={user}", stdin=rendered)
        lines = [
            line for line in done.stderr.splitlines() if line.startswith("Error") and "(AlreadyExists)" not in line
        ]
        assert all("forbidden" in line.lower() for line in lines), lines
        return {line.split('"STDIN": ')[1].split()[0] for line in lines}

    assert refused("owner") == set(), "who has the rights that a role gives may give them"
    assert refused("poor") == KINDS | {"leases.coordination.k8s.io"}
    done = helm("uninstall", "stackwright", "--namespace=stackwright", "--kube-as-user=exact")
    assert done.returncode == 0, done.stderr[-2000:]


async def grant(kubeconfig: Path, users: dict[str, list[Right]]) -> None:
    cluster = KubernetesCluster.from_file(str(kubeconfig))
    try:
        await cluster.apply(NAMESPACE, {"metadata": {"name": "stackwright"}}, "test")
        for user, rights in users.items():
            for space in ("", "stackwright"):
                rules = [rule(each) for each in dict.fromkeys(rights) if each.namespace == space]
                scope = "" if space else "Cluster"
                role = Kind(RBAC, "v1", f"{scope}Role", f"{scope.lower()}roles", bool(space))
                binding = Kind(RBAC, "v1", f"{scope}RoleBinding", f"{scope.lower()}rolebindings", bool(space))
                meta = {"metadata": {"name": f"test-{user}", **({"namespace": space} if space else {})}}
                ref = {"apiGroup": RBAC, "kind": role.kind, "name": f"test-{user}"}
                subjects = [{"apiGroup": RBAC, "kind": "User", "name": user}]
                await cluster.apply(role, {**meta, "rules": rules}, "test")
                await cluster.apply(binding, {**meta, "roleRef": ref, "subjects": subjects}, "test")
    finally:
        await cluster.close()


def rule(right: Right) -> dict[str, Any]:
    names = {"resourceNames": [right.name]} if right.name else {}
    return {"apiGroups": [right.group], "resources": [right.resource], "verbs": [right.verb], **names}
