import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from stackwright.core.kubernetes.versions import OLDEST_TEXT
from stackwright.local import tools
from stackwright.local.commands import LocalError, quiet
from stackwright.local.config import LocalCluster
from support.paths import ROOT

CLUSTER = LocalCluster(Path("/s"), Path("/c"))
KUBERNETES = tools.KUBERNETES
GO_MOD = "require (\n\tk8s.io/kubernetes v1.36.3\n)\n"


def test_kubernetes_reports_the_version_it_is_pinned_to() -> None:
    flags = tools.ldflags(KUBERNETES, GO_MOD)
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3" in flags
    assert "gitMajor=1" in flags
    assert "gitMinor=36" in flags


def test_the_oldest_supported_kubernetes_is_pinned_too() -> None:
    oldest = tools.OLDEST_KUBERNETES
    assert oldest.mod == f"{OLDEST_TEXT}.mod"
    text = (tools.source(oldest) / oldest.mod).read_text()
    assert tools.pinned_version(oldest, text).startswith(f"v{OLDEST_TEXT}.")
    newest, other = tools.VERSIONS
    assert other == OLDEST_TEXT != newest
    assert tools.pinned_version(KUBERNETES, (tools.source(KUBERNETES) / "go.mod").read_text()).startswith(f"v{newest}.")


def test_a_cluster_uses_the_programs_of_its_version() -> None:
    old = replace(CLUSTER, kubernetes=OLDEST_TEXT)
    assert tools.binary("kubelet", old).parent != tools.binary("kubelet", CLUSTER).parent
    assert tools.binary("etcd", old) == tools.binary("etcd", CLUSTER)
    assert str(tools.binary("kubelet", old).parent) in tools.environment(old)["PATH"]
    assert str(tools.binary("kubelet", CLUSTER).parent) not in tools.environment(old)["PATH"]
    assert tools.OLDEST_KUBERNETES in tools.missing(old)
    assert tools.OLDEST_KUBERNETES not in tools.missing(CLUSTER)


def test_each_version_is_built_from_its_own_file(tmp_path: Path) -> None:
    go, calls = tmp_path / "go", tmp_path / "calls"
    go.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nfor last; do :; done\n')
    go.chmod(0o755)
    for version in ("", OLDEST_TEXT):
        cluster = LocalCluster(tmp_path / "s", tmp_path / "c", kubernetes=version)
        tools.build(cluster, tools.of(cluster)[0], go, quiet)
    newest, oldest = calls.read_text().splitlines()
    assert "-modfile=go.mod" in newest and "gitMinor=32" not in newest
    assert f"-modfile={OLDEST_TEXT}.mod" in oldest and "gitMinor=32" in oldest


def test_an_unpinned_tool_is_rejected_with_the_file_to_edit() -> None:
    with pytest.raises(LocalError, match=r"tools/kubernetes/go\.mod"):
        tools.ldflags(KUBERNETES, "module x\n")


def test_all_kubernetes_programs_are_one_binary_under_several_names() -> None:
    places = {tools.binary(name, CLUSTER).parent for name in tools.KUBE_NAMES}
    assert len(places) == 1
    assert tools.binary("kubectl", CLUSTER).name == "kubectl"


def test_an_unknown_program_is_an_error() -> None:
    with pytest.raises(KeyError):
        tools.binary("emacs", CLUSTER)


def test_every_tool_has_its_source_and_its_own_digest() -> None:
    digests = {tools.digest(tool) for tool in tools.TOOLS}
    assert len(digests) == len(tools.TOOLS)


@pytest.mark.parametrize(
    ("name", "changed"),
    [("go.mod", [KUBERNETES]), ("go.sum", [KUBERNETES]), *(
        (f"{OLDEST_TEXT}.{end}", [tools.OLDEST_KUBERNETES]) for end in ("mod", "sum")
    ), ("main.go", [KUBERNETES, tools.OLDEST_KUBERNETES])],
)  # fmt: skip
def test_a_digest_covers_the_files_of_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, changed: list[tools.Tool]
) -> None:
    folder = tmp_path / "kubernetes"
    shutil.copytree(tools.source(KUBERNETES), folder)
    monkeypatch.setattr(tools, "source", lambda tool: folder)
    both = (KUBERNETES, tools.OLDEST_KUBERNETES)
    before = [tools.digest(tool) for tool in both]
    with (folder / name).open("a") as file:
        file.write("// changed\n")
    assert [tool for tool, digest in zip(both, before, strict=True) if tools.digest(tool) != digest] == changed


def test_a_wait_for_another_build_of_a_tool_ends_with_the_built_tool(tmp_path: Path) -> None:
    """A starting cloud and concurrent tests build with the same cache."""
    go, calls = tmp_path / "go", tmp_path / "calls"
    # go build -modfile=FILE -trimpath -ldflags FLAGS -o PLACE PACKAGE
    go.write_text(f'#!/bin/sh\necho "$8" >> {calls}\nsleep 0.3\ntouch "$7"\n')
    go.chmod(0o755)
    cluster = LocalCluster(tmp_path / "s", tmp_path / "c")
    tool = next(tool for tool in tools.TOOLS if tool.module == "etcd")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: tools.build(cluster, tool, go, quiet), range(2)))
    assert len(calls.read_text().splitlines()) == 1
    assert tools.binary("etcd", cluster).exists()


def test_a_build_that_failed_for_another_one_is_repeated_only_if_wanted(tmp_path: Path) -> None:
    """After Ctrl-C, an image must not begin to build a tool of which another thread was the builder."""
    cluster = LocalCluster(tmp_path / "s", tmp_path / "c")
    go, calls, waits = tmp_path / "go", tmp_path / "calls", threading.Event()
    go.write_text(f"#!/bin/sh\necho build >> {calls}\n")
    go.chmod(0o755)
    with ThreadPoolExecutor(1) as pool:
        with tools._exclusive(cluster, tools.HELM.module, quiet):
            image = pool.submit(tools.build, cluster, tools.HELM, go, lambda text: waits.set(), again=False)
            assert waits.wait(10)
        with pytest.raises(LocalError, match=r"^helm was not built$"):
            image.result()
    assert not calls.exists()
    tools.build(cluster, tools.HELM, go, quiet, again=False)
    assert calls.read_text() == "build\n"


def test_only_named_and_missing_tools_are_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, built = LocalCluster(tmp_path / "s", tmp_path / "c"), []
    monkeypatch.setattr(tools, "find_go", lambda *_: Path("go"))
    monkeypatch.setattr(tools, "build", lambda cluster, tool, go, report: built.append(tool.module))
    tools.folder(cluster, "helm").mkdir(parents=True)
    tools.build_all(cluster, quiet, ["etcd", "helm"])
    assert built == ["etcd"]
    with pytest.raises(KeyError, match="emacs"):
        tools.build_all(cluster, quiet, ["emacs"])
    assert built == ["etcd"]
    tools.build_all(cluster)
    assert built == ["etcd", *(tool.module for tool in tools.TOOLS if tool.module != "helm")]


def test_functional_tests_wait_for_the_programs_that_they_start() -> None:
    """`make functional` builds no others."""
    texts = [path.read_text() for path in (ROOT / "tests/functional").rglob("*.py")]
    started = {name for text in texts for name in re.findall(r'tools\.binary\("(.+?)"\)', text)}
    started |= {"etcd", "kube-apiserver"}  # of control_plane
    wanted = {tool.module for tool in tools.TOOLS if tool.names() & started}
    assert wanted > {"helm", "etcd"}
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^functional: \S+ server ##", makefile, re.MULTILINE)
    (named,) = re.findall(r"^server: .*\n\t@\$\(BUILD\) (.*)$", makefile, re.MULTILINE)
    assert set(named.split()) == wanted
