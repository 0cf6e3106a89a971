"""The operator's chart with the real helm and a real API server: from a registry, over an earlier chart, uninstalled.

No kubelet runs the pods; these tests check the kinds.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.adapters.helm.command import KUBERNETES
from stackwright.adapters.registry import certificates
from stackwright.adapters.registry.credentials import Credentials
from stackwright.adapters.registry.reference import prefix
from stackwright.adapters.registry.session import Session
from stackwright.cloud.registry import RESOURCES
from stackwright.local import tools
from stackwright.local.commands import LocalError, quiet
from stackwright.local.config import LocalCluster
from stackwright.local.image.published.charts import NAMES, Charts
from stackwright.local.steps.context import Context
from stackwright.local.steps.openstack import charts, operator
from support.control_plane import control_plane
from support.paths import ROOT
from support.registry.debian import auth_file, docker_registry
from support.registry.helm import environment
from support.registry.memory import PASSWORD, USER

TITLES = {"operator": "operator:0123456789ab", "keystone": "keystone:123456789abc"}
VALUES = {"images": {"tags": {"stackwright": "a.test/o:1"}, "references": {"keystone": "a.test/k:1"}}}
CHART = ROOT / "charts/stackwright"
VERSION = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
PLACE = ("--namespace", "stackwright")
LARGEST = 1 << 20  # bytes of a Secret, such as the record of a release
KINDS = {f"{resource.KIND.plural}.{resource.KIND.group}" for resource in RESOURCES}
CHANGED, OTHER = "keystones.stackwright.dev", "memcacheds.stackwright.dev"
Call = Callable[..., str]


@pytest.fixture
def ctx(tmp_path: Path) -> Iterator[Context]:
    """The context of `up` for a cluster without our kinds, an API server without nodes."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "tools").symlink_to(LocalCluster.discover().cache / "tools")
    made = Context(LocalCluster(tmp_path / "state", cache, tmp_path / "run"))
    folder = tmp_path / "control-plane"
    folder.mkdir()
    with control_plane(folder, limit=180) as made.kubeconfig:
        yield made


@pytest.fixture
def helm(ctx: Context, tmp_path: Path) -> Call:
    """Helm as a user runs it, without Stackwright."""

    def call(*words: str | Path) -> str:
        argv = [str(tools.binary("helm")), *map(str, words)]
        done = subprocess.run(
            argv,
            env={**os.environ, **environment(tmp_path, ctx.kubeconfig)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return call


def kinds(ctx: Context) -> dict[str, dict[str, Any]]:
    found = json.loads(charts.kubectl(ctx, "get", operator.CRDS, "--output", "json", limit=300))["items"]
    return {each["metadata"]["name"]: each for each in found}


def assert_established(ctx: Context) -> None:
    charts.kubectl(ctx, "wait", operator.CRDS, *KINDS, "--for=condition=Established", "--timeout=5m", limit=330)


def spec(kind: dict[str, Any]) -> dict[str, Any]:
    """Properties of the spec."""
    version = kind["spec"]["versions"][0]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    return found


def test_the_chart_of_a_registry_needs_no_values_and_its_kinds_outlive_it(
    ctx: Context, helm: Call, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with docker_registry(tmp_path_factory.mktemp("registry")) as server:
        place = prefix(f"{server.host}/sw")
        tls = certificates.context(server.host, server.ca, [])
        with closing(Session(place, Credentials("f", USER, PASSWORD), tls=tls)) as session:
            published = Charts.of(NAMES, place, session, TITLES, quiet)
            assert all(each.new for each in published.push())
            assert not any(each.new or each.sent for each in published.push())
            assert [str(each.state) for each in published.verify()] == ["ok", "ok"]
        login = ("--registry-config", auth_file(tmp_path / "auth.json", server.host), "--ca-file", server.ca)
        chart = (f"oci://{place}/charts/stackwright", "--version", VERSION, *login)
        assert f'registry: "{place}"' in helm("show", "values", *chart)
        helm("install", "stackwright", *chart, *PLACE, "--create-namespace")
        helm("upgrade", "stackwright", *chart, *PLACE)
        helm("install", "volumes", f"oci://{place}/charts/local-volume-provisioner", *login, *PLACE)
    assert_established(ctx)
    assert kinds(ctx).keys() == KINDS
    pods = json.loads(charts.kubectl(ctx, "get", "deployments,daemonsets", *PLACE, "--output", "json"))["items"]
    images = [each["image"] for pod in pods for each in pod["spec"]["template"]["spec"]["containers"]]
    assert images == [f"{place}/{TITLES['operator']}"] * 2
    record = json.loads(charts.kubectl(ctx, "get", "secret", "sh.helm.release.v1.stackwright.v2", *PLACE, "-o", "json"))
    size = len(base64.b64decode(record["data"]["release"]))
    assert size < LARGEST / 2, "352 kB when the kinds became a part of the release"
    helm("uninstall", "stackwright", *PLACE)
    assert kinds(ctx).keys() == KINDS
    helm("install", "stackwright", CHART, *PLACE, "--set=images.tags.stackwright=a.test/o:1")


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """A chart of earlier versions: its kinds are in the folder crds/, and one of them has other fields."""
    folder = tmp_path / "former"
    shutil.copytree(CHART, folder)
    (folder / "files/crds").rename(folder / "crds")
    (folder / "templates/crds.yaml").unlink()
    path = folder / "crds" / f"{CHANGED}.yaml"
    kind = yaml.safe_load(path.read_text())
    spec(kind)["gone"] = {"type": "string"}
    del spec(kind)[NEW]
    path.write_text(yaml.safe_dump(kind))
    (folder / "crds" / f"{OTHER}.yaml").unlink()  # a kind that it lacks
    return folder


NEW = min(spec(yaml.safe_load((CHART / f"files/crds/{CHANGED}.yaml").read_text())))


def by_kubectl(ctx: Context, helm: Call, tmp_path: Path) -> None:
    """Take over the kinds by the commands of docs/howto/install.md."""
    path, only = tmp_path / "kinds.yaml", ("--show-only", "templates/crds.yaml")
    path.write_text(
        helm("template", "stackwright", CHART, *only, f"--kube-version={KUBERNETES}", "--set=images.tags.stackwright=x")
    )
    names = charts.kubectl(ctx, "get", "--filename", str(path), "--ignore-not-found", "--output", "name").split()
    place = ("meta.helm.sh/release-name=stackwright", "meta.helm.sh/release-namespace=stackwright")
    charts.kubectl(ctx, "annotate", "--overwrite", *names, *place)
    charts.kubectl(ctx, "label", "--overwrite", *names, "app.kubernetes.io/managed-by=Helm")


def by_up(ctx: Context, helm: Call, tmp_path: Path) -> None:
    """Take over the kinds as `up` does; a kind of another release is not changed."""
    nova = (operator.CRDS, "novas.stackwright.dev")
    charts.kubectl(ctx, "label", *nova, "app.kubernetes.io/managed-by=Helm")
    charts.kubectl(ctx, "annotate", *nova, "meta.helm.sh/release-name=other")
    operator.take_over(ctx)
    with pytest.raises(LocalError, match=r'"novas\.stackwright\.dev" .*exists and cannot be imported'):
        upgrade(ctx)
    charts.kubectl(ctx, "annotate", *nova, "meta.helm.sh/release-name-")
    operator.take_over(ctx)


def upgrade(ctx: Context) -> None:
    charts.install(ctx, "stackwright", "stackwright", operator.chart(), VALUES, wait=False)


@pytest.mark.parametrize("take_over", [by_up, by_kubectl])
def test_an_upgrade_changes_the_kinds_of_a_former_chart(
    ctx: Context, helm: Call, former: Path, tmp_path: Path, take_over: Callable[..., None]
) -> None:
    helm("install", "stackwright", former, *PLACE, "--create-namespace", "--set=images.tags.stackwright=a.test/o:1")
    assert kinds(ctx).keys() == KINDS - {OTHER}
    assert "gone" in spec(kinds(ctx)[CHANGED])
    with pytest.raises(LocalError, match="exists and cannot be imported into the current release"):
        upgrade(ctx)
    take_over(ctx, helm, tmp_path)
    upgrade(ctx)
    assert_established(ctx)
    found = kinds(ctx)
    assert found.keys() == KINDS
    assert "gone" not in spec(found[CHANGED])
    assert NEW in spec(found[CHANGED])
    helm("uninstall", "stackwright", *PLACE)
    assert kinds(ctx).keys() == KINDS
